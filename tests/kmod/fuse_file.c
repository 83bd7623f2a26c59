// SPDX-License-Identifier: MIT
#include "fuse_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "check.h"

#define FILE_NODE	2
#define PAGE		4096
#define FOR_EVER	1000000

/* The server of the file system, a thread of the process that maps. */
struct server {
	int fuse;
	int asked;
	int let;
	const void *page;
	char delivered;
};

static void reply(struct server *server, const struct fuse_in_header *in, int error,
		  const void *body, size_t size)
{
	struct fuse_out_header out = {
		.len = (uint32_t)(sizeof(out) + size), .error = error, .unique = in->unique,
	};
	struct iovec parts[2] = { { &out, sizeof(out) }, { (void *)(uintptr_t)body, size } };

	/* The reader may not wait for the answer any more (ENOENT). */
	if (writev(server->fuse, parts, size ? 2 : 1) < 0 && errno != ENOENT)
		perror("fuse");
}

static struct fuse_attr attributes(uint64_t node)
{
	return (struct fuse_attr){
		.ino = node,
		.size = node == FILE_NODE ? PAGE : 0,
		.blocks = 8,
		.mode = node == FILE_NODE ? S_IFREG | 0600 : S_IFDIR | 0700,
		.nlink = 1,
		.blksize = PAGE,
	};
}

static void deliver(struct server *server, const struct fuse_in_header *in)
{
	char byte;

	if (!server->delivered) {
		if (write(server->asked, "", 1) != 1 || read(server->let, &byte, 1) < 0)
			perror("fuse page");
		server->delivered = 1;
	}
	reply(server, in, 0, server->page, PAGE);
}

static void answer(struct server *server, const struct fuse_in_header *in)
{
	switch (in->opcode) {
	case FUSE_INIT: {
		struct fuse_init_out out = {
			.major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = PAGE,
		};

		reply(server, in, 0, &out, sizeof(out));
		break;
	}
	case FUSE_LOOKUP: {
		struct fuse_entry_out out = {
			.nodeid = FILE_NODE, .entry_valid = FOR_EVER, .attr_valid = FOR_EVER,
			.attr = attributes(FILE_NODE),
		};

		reply(server, in, 0, &out, sizeof(out));
		break;
	}
	case FUSE_GETATTR: {
		struct fuse_attr_out out = {
			.attr_valid = FOR_EVER, .attr = attributes(in->nodeid),
		};

		reply(server, in, 0, &out, sizeof(out));
		break;
	}
	case FUSE_OPEN: {
		struct fuse_open_out out = { .fh = 1 };

		reply(server, in, 0, &out, sizeof(out));
		break;
	}
	case FUSE_READ:
		deliver(server, in);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break; /* none is expected */
	case FUSE_FLUSH:
	case FUSE_RELEASE:
		reply(server, in, 0, NULL, 0);
		break;
	default:
		reply(server, in, -ENOSYS, NULL, 0);
	}
}

static void *serve(void *argument)
{
	static char request[FUSE_MIN_READ_BUFFER + PAGE];
	struct server *server = argument;

	for (;;) {
		ssize_t got = read(server->fuse, request, sizeof(request));

		if (got < 0 && (errno == EINTR || errno == ENOENT))
			continue;
		if (got < (ssize_t)sizeof(struct fuse_in_header))
			return NULL; /* unmounted */
		answer(server, (const struct fuse_in_header *)request);
	}
}

static void write_map(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	check_message(fd >= 0, "%s: %s", path, strerror(errno));
	check_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* Enters a user namespace as root, in which the process may mount. */
static int enter_namespace(void)
{
	uid_t uid = getuid();
	gid_t gid = getgid();
	char text[64];

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
		return -errno;
	write_map("/proc/self/setgroups", "deny");
	snprintf(text, sizeof(text), "0 %u 1", uid);
	write_map("/proc/self/uid_map", text);
	snprintf(text, sizeof(text), "0 %u 1", gid);
	write_map("/proc/self/gid_map", text);
	return 0;
}

void *fuse_page_map(const void *page, int asked, int let)
{
	static struct server server;
	char options[128], path[] = "/tmp/fuse-XXXXXX", file[64];
	pthread_t thread;
	void *mapped;
	int fd;

	if (enter_namespace())
		return NULL;
	/* The file must be opened in that namespace, or it cannot be mounted there. */
	server = (struct server){ .fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC), .asked = asked,
				  .let = let, .page = page };
	if (server.fuse < 0)
		return NULL;
	check(mkdtemp(path));
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", server.fuse);
	check_message(!mount("fuse", path, "fuse", MS_NOSUID | MS_NODEV, options), "mount: %s",
		      strerror(errno));
	check_equal(pthread_create(&thread, NULL, serve, &server), 0);
	snprintf(file, sizeof(file), "%s/page", path);
	fd = open(file, O_RDONLY | O_CLOEXEC);
	check_message(fd >= 0, "%s: %s", file, strerror(errno));
	mapped = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	check_message(mapped != MAP_FAILED, "mmap: %s", strerror(errno));
	close(fd);
	return mapped;
}
