// SPDX-License-Identifier: MIT
/*
 * An ordinary user submits arrays on a page of their own FUSE file, which does not come: no device
 * of DRM waits for the page.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "device.h"
#include "fuse_file.h"
#include "load.h"
#include "ring.h"

#define TWO_DEVICES	"devices=2 cores=1 mode=functional"
#define NOBODY		65534
/* Time that an emulated machine may take to unbind; a wait for the page would never end. */
#define PATIENCE_S	30

#define NO_FUSE		'-'

/* The client's ends of the pipes. */
struct pipes {
	int asked[2];
	int let[2];
};

static int submit_by_ioctl(struct client *client, struct job *job)
{
	return job_submit(client, job);
}

static int submit_by_ring(struct client *client, struct job *job)
{
	struct completion completion;
	struct io_uring ring;

	ring_open(&ring, 8, IORING_SETUP_SQE128 | IORING_SETUP_CQE32);
	ring_prepare(&ring, client->fd, OVERTAKE_URING_SUBMIT, &job->submit, sizeof(job->submit), 1);
	check_equal(io_uring_submit(&ring), 1);
	completion = ring_reap(&ring);
	io_uring_queue_exit(&ring);
	return completion.status;
}

/*
 * In a chroot, in which the processes of the VM run, no process gets a user namespace.  So this
 * root becomes that of a new mount namespace.
 */
static void leave_chroot(void)
{
	int root, own;

	check_equal(unshare(CLONE_NEWNS), 0);
	root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	own = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	check(root >= 0 && own >= 0);
	check_equal(setns(own, CLONE_NEWNS), 0); /* back to that namespace's own root */
	check_equal(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	check_equal(fchdir(root), 0);
	/* Without a chroot the root is the same already. */
	if (mount(".", "/", NULL, MS_MOVE, NULL))
		check_equal(errno, ELOOP);
	check_equal(chroot("."), 0);
	check_equal(chdir("/"), 0);
	close(root);
	close(own);
}

/* Runs as user nobody: the process opens the device before it enters its namespace. */
static void be_stalled(const struct pipes *pipes, int (*submit)(struct client *, struct job *))
{
	static char page[4096];
	struct client client;
	struct job job;
	void *stalled;

	leave_chroot();
	check_equal(setresgid(NOBODY, NOBODY, NOBODY), 0);
	check_equal(setresuid(NOBODY, NOBODY, NOBODY), 0);
	check_equal(prctl(PR_SET_DUMPABLE, 1), 0); /* its /proc/self is its own */
	client = client_open(0, 254);
	put_copy(&client, 0, 16384, 0, 64);
	job_init(&job, &client, 1, 0, 1);
	memcpy(page, &job.fcs[0], sizeof(job.fcs[0]));
	stalled = fuse_page_map(page, pipes->asked[1], pipes->let[0]);
	if (!stalled) {
		check_equal(write(pipes->asked[1], &(char){ NO_FUSE }, 1), 1);
		_exit(0);
	}
	job.submit.fcs = (uintptr_t)stalled;
	check_equal(submit(&client, &job), -ENODEV);
	_exit(0);
}

/* Returns true if an unbind of device @index ends although a process is stalled. */
static bool unbinds(unsigned int index)
{
	pid_t pid = fork();
	int tenths, status;

	check(pid >= 0);
	if (!pid) {
		device_bind(index, "unbind");
		_exit(0);
	}
	for (tenths = 0; tenths < 10 * PATIENCE_S; tenths++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return WIFEXITED(status) && !WEXITSTATUS(status);
		usleep(100000);
	}
	return false;
}

static void a_page_that_does_not_come(int (*submit)(struct client *, struct job *))
{
	bool other, own;
	struct pipes pipes;
	char byte = 0;
	int status;
	pid_t pid;

	let_all_users_open();
	if (chmod("/dev/fuse", 0666))
		check_skip("this kernel has no FUSE");
	check_equal(pipe(pipes.asked), 0);
	check_equal(pipe(pipes.let), 0);
	pid = fork();
	check(pid >= 0);
	if (!pid)
		be_stalled(&pipes, submit);
	close(pipes.asked[1]);
	close(pipes.let[0]);
	check_message(read(pipes.asked[0], &byte, 1) == 1, "the client did not come to the page");
	if (byte == NO_FUSE)
		check_skip("ordinary users may not mount FUSE here");
	other = unbinds(1);
	own = unbinds(0);
	/* Lets the stalled process go on in any case. */
	check_equal(write(pipes.let[1], "", 1), 1);
	check_equal(waitpid(pid, &status, 0), pid);
	check_message(other, "another device's unbind waits for the page");
	check_message(own, "the device's unbind waits for the page");
	check_equal(status, 0);
	device_bind(0, "bind");
	device_bind(1, "bind");
}

static void of_an_ioctl(void)
{
	a_page_that_does_not_come(submit_by_ioctl);
}

static void of_io_uring(void)
{
	a_page_that_does_not_come(submit_by_ring);
}

const struct test_case fuse_cases[] = {
	{ "fuse-page-of-an-ioctl-holds-up-no-unbind", TWO_DEVICES, of_an_ioctl },
	{ "fuse-page-of-io-uring-holds-up-no-unbind", TWO_DEVICES, of_io_uring },
	{ 0 },
};
