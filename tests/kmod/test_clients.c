// SPDX-License-Identifier: MIT
/*
 * Files that other processes take over, by fork, exec, dup or a socket: rights and accounting
 * belong to the file.  One client has another word size.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "load.h"
#include "ring.h"

#define PLAIN	"cores=2 mode=functional"
#define BOTH	"cores=2 mode=both profile=ideal"
#define MS	1000000ull
#define NEVER	OVERTAKE_DEADLINE_NEVER
#define NOBODY	65534

/* Waits for a child that must not fail; its report about a failure is that of the test case. */
static void join_child(pid_t child)
{
	int status;

	check(child > 0);
	check_equal(waitpid(child, &status, 0), child);
	check_message(WIFEXITED(status) && !WEXITSTATUS(status), "child: status %#x",
		      (unsigned int)status);
}

static void become_nobody(void)
{
	check_equal(setresgid(NOBODY, NOBODY, NOBODY), 0);
	check_equal(setresuid(NOBODY, NOBODY, NOBODY), 0);
}

/*
 * Opens a program beside this one, as a file in memory that all users may execute: other users may
 * not be able to read the directory.
 */
static int open_program(const char *name)
{
	char self[PATH_MAX] = "", path[PATH_MAX];
	struct stat status;
	int file, copy;

	check(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	snprintf(path, sizeof(path), "%s/%s", dirname(self), name);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		check_skip("built without a C library for 32-bit programs");
	check_equal(fstat(file, &status), 0);
	copy = memfd_create(name, MFD_CLOEXEC);
	check(copy >= 0);
	check_equal(sendfile(copy, file, NULL, (size_t)status.st_size), status.st_size);
	check_equal(fchmod(copy, 0755), 0);
	close(file);
	return copy;
}

#define CANNOT_EXECUTE	76

/* Runs a program with arguments (NULL-ended); returns its exit status, or CANNOT_EXECUTE. */
static int run_program(const char *name, bool as_nobody, const char *const *arguments)
{
	char *argv[8] = { (char *)name };
	int program = open_program(name);
	unsigned int i;
	int status;
	pid_t child;

	for (i = 0; arguments[i]; i++)
		argv[i + 1] = (char *)arguments[i];
	child = fork();
	if (!child) {
		if (as_nobody)
			become_nobody();
		fexecve(program, argv, environ);
		_exit(errno == ENOEXEC ? CANNOT_EXECUTE : 75);
	}
	close(program);
	check_equal(waitpid(child, &status, 0), child);
	check_message(WIFEXITED(status), "%s: status %#x", name, (unsigned int)status);
	return WEXITSTATUS(status);
}

static void run_client(const char *name, bool as_nobody, const char *const *arguments)
{
	int status = run_program(name, as_nobody, arguments);

	if (status == CANNOT_EXECUTE)
		check_skip("this kernel does not run 32-bit programs");
	check_message(!status, "%s %s: exit status %d", name, arguments[0], status);
}

static void client_makes_every_call(void)
{
	static const char *const all[] = { "all", NULL };

	run_client("kmod_client", false, all);
	wait_until_forgotten();
}

static void client_of_32_bits_makes_every_call(void)
{
	static const char *const all[] = { "all", NULL };

	run_client("kmod_client32", false, all);
	wait_until_forgotten();
}

static void check_runs(struct client *client, uint64_t tag, uint32_t priority)
{
	struct overtake_result result;
	struct job job;

	memset(client->data.data, (int)tag, 4096);
	put_copy(client, 0, 8192, 0, 4096);
	job_init(&job, client, tag, 0, 1);
	job.submit.priority = (uint16_t)priority;
	check_equal(job_submit(client, &job), 0);
	check_equal(job_wait(client, tag, NEVER, &result), 0);
	check_equal(result.status, 0);
	check(!memcmp(client->data.data, client->data.data + 8192, 4096));
}

/* Parent and child use one file, one context, one mapping; the end of the child changes nothing. */
static void fork_shares_the_file(void)
{
	struct client client = client_open(0, 255);
	struct overtake_result result;
	struct job job;
	pid_t child;

	put_delay(&client, 1, 50 * MS);
	child = fork();
	if (!child) {
		check_runs(&client, 1, 255);
		job_init(&job, &client, 2, 1, 1);
		check_equal(job_submit(&client, &job), 0);
		_exit(0); /* the job in flight belongs to the file */
	}
	join_child(child);
	check_equal(job_wait(&client, 1, 0, &result), -ENOENT);
	check_equal(job_wait(&client, 2, NEVER, &result), 0);
	check_equal(result.status, 0);
	check_runs(&client, 3, 255);
	client_close(&client);
	wait_until_forgotten();
}

/* The child outlives the parent, which opened the file. */
static void child_keeps_the_file(void)
{
	char byte;
	int end[2];
	pid_t parent, child = 0;
	int result_pipe[2];

	check(!pipe(end) && !pipe(result_pipe));
	parent = fork();
	if (!parent) {
		struct client client = client_open(0, 255);

		put_delay(&client, 1, 900 * MS);
		child = fork();
		if (!child) {
			check_equal(read(end[0], &byte, 1), 1);
			check_runs(&client, 1, 255);
			check_equal(write(result_pipe[1], "y", 1), 1);
			_exit(0);
		}
		_exit(0);
	}
	close(result_pipe[1]);
	join_child(parent);
	check_equal(write(end[1], "", 1), 1);
	check_message(read(result_pipe[0], &byte, 1) == 1 && byte == 'y', "the child failed");
	wait_until_forgotten();
}

/* The client chooses O_CLOEXEC; the file, not the process, has the right to priority 255. */
static void exec_keeps_what_the_client_chose(const char *name)
{
	struct client client = client_open(0, 255);
	int kept = dup(client.fd); /* without FD_CLOEXEC */
	char fd[16], context[16];
	const char *const use[] = { "use", fd, context, "255", "7", NULL };
	const char *const refused[] = { "refused", fd, NULL };

	check(kept >= 0);
	check_equal(fcntl(client.fd, F_GETFD), FD_CLOEXEC);
	snprintf(context, sizeof(context), "%u", client.context);
	snprintf(fd, sizeof(fd), "%d", kept);
	run_client(name, false, use);
	run_client(name, true, use);
	snprintf(fd, sizeof(fd), "%d", client.fd);
	run_client(name, false, refused);
	check_runs(&client, 7, 255);
	close(kept);
	client_close(&client);
	wait_until_forgotten();
}

static void exec_keeps_the_file(void)
{
	exec_keeps_what_the_client_chose("kmod_client");
}

static void exec_of_32_bits_keeps_the_file(void)
{
	exec_keeps_what_the_client_chose("kmod_client32");
}

static void send_fd(int socket, int fd)
{
	char byte = 0, control[CMSG_SPACE(sizeof(int))] = "";
	struct iovec data = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = {
		.msg_iov = &data, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(int));
	check_equal(sendmsg(socket, &message, 0), 1);
}

static int receive_fd(int socket)
{
	char byte, control[CMSG_SPACE(sizeof(int))] = "";
	struct iovec data = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = {
		.msg_iov = &data, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	int fd;

	check_equal(recvmsg(socket, &message, MSG_CMSG_CLOEXEC), 1);
	check(CMSG_FIRSTHDR(&message));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
	return fd;
}

/* The receiver cannot open the device: only the rights of the file matter. */
static struct client receive_and_use(int socket)
{
	struct client client = { 0 };
	uint32_t id;

	become_nobody();
	client.fd = receive_fd(socket);
	client.context = 1;
	client.program = buffer_create(client.fd, 16 * 4096, OVERTAKE_MAP_READ);
	client.data = buffer_create(client.fd, 16 * 4096,
				    OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE);
	check_equal(context_create(client.fd, 255, 0, &id), -EPERM);
	check_runs(&client, 1, 255);
	put_delay(&client, 1, 900 * MS);
	check_equal(write(socket, "", 1), 1);
	return client;
}

/* The sender closes its file; the receiver has the last one, and is killed with jobs in flight. */
static void receiver_live(int socket)
{
	struct client client = receive_and_use(socket);
	struct job job;
	char byte;

	check_equal(read(socket, &byte, 1), 1);
	job_init(&job, &client, 2, 1, 1);
	check_equal(job_submit(&client, &job), 0);
	job_init(&job, &client, 3, 1, 1);
	check_equal(job_submit(&client, &job), 0);
	check_equal(write(socket, "", 1), 1);
	pause();
}

/* The work of the receiver is charged to the process that opened the file. */
static void check_charged_to_us(void)
{
	char path[128], text[4096], expected[64];

	debugfs_path(path, sizeof(path), 0, "core1/users");
	check_equal(read_file(path, text, sizeof(text)), 0);
	snprintf(expected, sizeof(expected), "\n%d 1 1 ", getpid());
	check_message(strstr(text, expected), "users:\n%s", text);
}

static void passed_file_keeps_its_rights(void)
{
	int sockets[2], status;
	uint32_t context;
	pid_t receiver;
	char byte;
	int fd;

	check_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
	receiver = fork();
	if (!receiver) {
		close(sockets[0]);
		receiver_live(sockets[1]);
	}
	close(sockets[1]);
	fd = device_open(0);
	check_equal(context_create(fd, 255, 0, &context), 0);
	check_equal(context, 1);
	send_fd(sockets[0], fd);
	check_equal(read(sockets[0], &byte, 1), 1);
	check_charged_to_us();
	close(fd);
	check_equal(write(sockets[0], "", 1), 1);
	check_equal(read(sockets[0], &byte, 1), 1);
	kill(receiver, SIGKILL);
	check_equal(waitpid(receiver, &status, 0), receiver);
	wait_until_forgotten();
}

/* A dup is the same file: names and jobs are shared; the file ends when the last is closed. */
static void dup_is_the_same_file(void)
{
	struct client client = client_open(0, 254), other = client;
	struct overtake_result result;
	struct io_uring ring;
	struct job job;
	char path[128], first[4096], second[4096];

	other.fd = fcntl(client.fd, F_DUPFD_CLOEXEC, 0);
	check(other.fd >= 0 && other.fd != client.fd);
	put_delay(&client, 1, 20 * MS);
	job_init(&job, &client, 1, 1, 1);
	check_equal(job_submit(&client, &job), 0);
	job_init(&job, &other, 1, 1, 1);
	check_equal(job_submit(&other, &job), -EEXIST);
	check_equal(job_wait(&other, 1, NEVER, &result), 0);
	check_equal(job_wait(&client, 1, 0, &result), -ENOENT);
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", client.fd);
	check_equal(read_file(path, first, sizeof(first)), 0);
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", other.fd);
	check_equal(read_file(path, second, sizeof(second)), 0);
	check(strstr(first, "drm-client-id") && !strcmp(strstr(first, "drm-"),
							strstr(second, "drm-")));
	ring_open_default(&ring);
	job_init(&job, &client, 2, 1, 1);
	ring_submit_job(&ring, &client, &job);
	close(client.fd);
	check_runs(&other, 3, 0);
	check_equal(ring_reap(&ring).status, 0);
	io_uring_queue_exit(&ring);
	client_close(&other);
	wait_until_forgotten();
}

const struct test_case client_cases[] = {
	{ "client-makes-every-call", BOTH, client_makes_every_call },
	{ "client-of-32-bits-makes-every-call", BOTH, client_of_32_bits_makes_every_call },
	{ "client-fork-shares-the-file", PLAIN, fork_shares_the_file },
	{ "client-child-keeps-the-file", PLAIN, child_keeps_the_file },
	{ "client-exec-keeps-what-the-client-chose", PLAIN, exec_keeps_the_file },
	{ "client-exec-of-32-bits-keeps-the-file", PLAIN, exec_of_32_bits_keeps_the_file },
	{ "client-passed-file-keeps-its-rights", PLAIN, passed_file_keeps_its_rights },
	{ "client-dup-is-the-same-file", BOTH, dup_is_the_same_file },
	{ 0 },
};
