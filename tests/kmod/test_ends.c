// SPDX-License-Identifier: MIT
/*
 * Ends of jobs and tasks: the work of the driver for them is bounded, and the driver does it when
 * and where no other client waits for it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "load.h"
#include "ring.h"

/* Two spaces: it differs from the text of other files, whose cases expect a clock at zero. */
#define MANUAL		"cores=2 mode=timed profile=ideal  manual_clock=1"
#define FUNCTIONAL	"cores=2 mode=functional profile=ideal"
#define NEVER		OVERTAKE_DEADLINE_NEVER
#define MS		1000000ull
#define BURST		200u
#define NOBODY		65534

static struct client client;

static void submit_short(uint64_t tag)
{
	struct job job;

	job_init(&job, &client, tag, 0, 1);
	job.submit.deadline_ns = NEVER;
	check_equal(job_submit(&client, &job), 0);
}

static uint32_t collect_all(void)
{
	struct overtake_result result;
	uint32_t count = 0;

	while (!job_wait_any(&client, 0, &result))
		count++;
	return count;
}

/* An edge-triggered poller that collects each burst of jobs to its end sees every burst. */
static void edges_are_enough_for_who_collects_all(void)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	int epoll = epoll_create1(0);
	uint32_t round, collected;

	client = client_open(0, 254);
	put_delay(&client, 0, 1);
	check_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, client.fd, &event), 0);
	for (round = 0; round < 50; round++) {
		uint32_t i;

		for (i = 0; i < BURST; i++)
			submit_short(i);
		for (collected = 0; collected < BURST; collected += collect_all())
			check_equal(epoll_wait(epoll, &event, 1, 60000), 1);
		check_equal(collected, BURST);
	}
	close(epoll);
	client_close(&client);
}

/* While a file stays readable, its pollers are woken once, however many jobs end. */
static void a_readable_file_wakes_no_poller_again(void)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	int epoll = epoll_create1(0);
	uint64_t now_ns = 1000;
	uint32_t i;

	client = client_open_at_zero();
	put_delay(&client, 0, 1000);
	check_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, client.fd, &event), 0);
	for (i = 0; i < 3; i++)
		submit_short(i);
	now_ns += 1000;
	check_equal(advance_clock(0, now_ns), 0);
	check_equal(epoll_wait(epoll, &event, 1, 60000), 1);
	now_ns += MS;
	check_equal(advance_clock(0, now_ns), 0);
	check_equal(epoll_wait(epoll, &event, 1, 200), 0);
	check_equal(collect_all(), 3);
	submit_short(7);
	check_equal(advance_clock(0, now_ns + MS), 0);
	check_equal(epoll_wait(epoll, &event, 1, 60000), 1);
	check_equal(collect_all(), 1);
	close(epoll);
	client_close(&client);
}

/* If two jobs end in one instant, the HIGH one is delivered first, though its core comes second. */
static void high_ends_are_delivered_first(void)
{
	struct overtake_result result;
	struct job job;
	uint32_t i;

	client = client_open_at_zero();
	check_equal(context_create(client.fd, 255, 1, &client.context), 0);
	put_delay(&client, 0, 1000);
	for (i = 1; i <= 2; i++) {
		job_init(&job, &client, i, 0, 1);
		job.submit.core = i;
		job.submit.priority = i == 2 ? 255 : 0;
		job.submit.deadline_ns = NEVER;
		check_equal(job_submit(&client, &job), 0);
	}
	check_equal(advance_clock(0, MS), 0);
	check_equal(job_wait_any(&client, 0, &result), 0);
	check_equal(result.tag, 2);
	check_equal(job_wait_any(&client, 0, &result), 0);
	check_equal(result.tag, 1);
	check_equal(result.end_ns, 1000);
	client_close(&client);
}

static void *wait_for_job(void *data)
{
	struct overtake_result result;

	(void)data;
	return (void *)(intptr_t)job_wait(&client, 1, NEVER, &result);
}

static void waiters_of_a_context_are_limited(void)
{
	static pthread_t threads[OVERTAKE_MAX_WAITERS];
	struct overtake_result result;
	uint32_t i, collected = 0;
	pthread_attr_t small;
	void *ret;

	client = client_open_at_zero();
	put_delay(&client, 0, 1000);
	submit_short(1);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (i = 0; i < OVERTAKE_MAX_WAITERS; i++)
		check_equal(pthread_create(&threads[i], &small, wait_for_job, NULL), 0);
	for (i = 0; limit_used(client.fd, OVERTAKE_LIMIT_WAITERS) < OVERTAKE_MAX_WAITERS; i++) {
		check(i < 60000);
		usleep(1000);
	}
	check_equal(job_wait(&client, 1, NEVER, &result), -ENOSPC);
	check_equal(job_wait(&client, 1, 0, &result), -ETIMEDOUT); /* does not sleep */
	check_equal(advance_clock(0, MS), 0);
	for (i = 0; i < OVERTAKE_MAX_WAITERS; i++) {
		check_equal(pthread_join(threads[i], &ret), 0);
		collected += !ret;
		check(!ret || (intptr_t)ret == -ENOENT);
	}
	check_equal(collected, 1);
	check_equal(limit_used(client.fd, OVERTAKE_LIMIT_WAITERS), 0);
	client_close(&client);
}

/* Fills queue after queue of file after file; returns the number of tasks. */
static uint32_t submit_tasks(uint32_t most, int *fds, uint32_t *fd_count, int *error)
{
	struct overtake_task_segment segment = { .cpu_key = 1, .expected_ns = 1000 };
	uint32_t done = 0, queues = 0, i;

	*fd_count = 0;
	*error = 0;
	while (done < most && !*error) {
		struct drm_overtake_context_create create = { .max_priority = 254, .flags = 1 };

		if (queues++ % OVERTAKE_MAX_CONTEXTS == 0)
			fds[(*fd_count)++] = device_open(0);
		check_equal(device_ioctl(fds[*fd_count - 1], DRM_IOCTL_OVERTAKE_CONTEXT_CREATE, &create),
			    0);
		for (i = 0; i < OVERTAKE_MAX_TASKS && done < most && !*error; i++) {
			struct drm_overtake_task_submit submit = {
				.segments = (uintptr_t)&segment, .tag = i, .deadline_ns = ~0ull,
				.context_id = create.context_id, .segment_count = 1, .priority = 200,
			};

			*error = device_ioctl(fds[*fd_count - 1], DRM_IOCTL_OVERTAKE_TASK_SUBMIT, &submit);
			done += !*error;
		}
	}
	return done;
}

static void tasks_of_a_user_are_limited(void)
{
	uint32_t fd_count, i;
	int fds[4], error;

	check_equal(submit_tasks(OVERTAKE_MAX_USER_TASKS + 1, fds, &fd_count, &error),
		    OVERTAKE_MAX_USER_TASKS);
	check_equal(error, -ENOSPC);
	check_equal(limit_used(fds[0], OVERTAKE_LIMIT_USER_TASKS), OVERTAKE_MAX_USER_TASKS);
	/* The thread that closes the file ends all of them, so nothing is left when it returns. */
	close(fds[0]);
	check_equal(limit_used(fds[1], OVERTAKE_LIMIT_USER_TASKS), 0);
	for (i = 1; i < fd_count; i++)
		close(fds[i]);
}

/* The thread that destroys a context ends and frees its tasks, except those that end at once. */
static void a_destroyed_context_leaves_nothing(void)
{
	struct drm_overtake_context_destroy destroy = { .context_id = 1 };
	uint64_t before, after;
	uint32_t fd_count, i;
	int fds[1], error;

	for (i = 0; i < 20; i++) {
		check_equal(submit_tasks(OVERTAKE_MAX_TASKS, fds, &fd_count, &error), OVERTAKE_MAX_TASKS);
		before = limit_used(fds[0], OVERTAKE_LIMIT_CLIENT_BYTES);
		check_equal(device_ioctl(fds[0], DRM_IOCTL_OVERTAKE_CONTEXT_DESTROY, &destroy), 0);
		after = limit_used(fds[0], OVERTAKE_LIMIT_CLIENT_BYTES);
		check(before > OVERTAKE_MAX_TASKS);
		check(after <= before / 32);
		check_equal(limit_used(fds[0], OVERTAKE_LIMIT_USER_TASKS), 0);
		close(fds[0]);
	}
}

static void send_descriptor(int socket, int fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .header = { .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS,
				  .cmsg_len = CMSG_LEN(sizeof(int)) } };
	struct iovec data = { .iov_base = "", .iov_len = 1 };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control,
				  .msg_controllen = sizeof(control) };

	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	check_equal(sendmsg(socket, &message, 0), 1);
}

/*
 * Sends the file and a pair's receiving socket to this socket.  When the process has closed its
 * descriptors, only the socket itself holds the socket.
 */
static void put_in_flight(int fd, int *sockets)
{
	check_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
	send_descriptor(sockets[0], fd);
	send_descriptor(sockets[0], sockets[1]);
	close(fd);
}

/* A thread of the kernel closes a file in a socket that is held only by itself. */
static void a_file_in_flight_leaves_nothing(void)
{
	int sockets[2], fds[2], error, other = device_open(0);
	uint32_t fd_count, i;

	check_equal(submit_tasks(4 * OVERTAKE_MAX_TASKS, fds, &fd_count, &error),
		    4 * OVERTAKE_MAX_TASKS);
	check_equal(fd_count, 1);
	put_in_flight(fds[0], sockets);
	check_equal(limit_used(other, OVERTAKE_LIMIT_USER_TASKS), 4 * OVERTAKE_MAX_TASKS);
	close(sockets[1]);
	close(sockets[0]);
	for (i = 0; limit_used(other, OVERTAKE_LIMIT_USER_TASKS); i++) {
		check(i < 60000);
		usleep(1000);
	}
	close(other);
}

/* The kernel closes the file when the device has gone: no work item is left. */
static void a_file_in_flight_outlives_its_device(void)
{
	int sockets[2], fds[1], error;
	uint32_t fd_count, i;

	for (i = 0; i < 10; i++) {
		check_equal(submit_tasks(100, fds, &fd_count, &error), 100);
		put_in_flight(fds[0], sockets);
		device_bind(0, "unbind");
		close(sockets[1]);
		close(sockets[0]);
		device_bind(0, "bind");
	}
	check_equal(submit_tasks(100, fds, &fd_count, &error), 100);
	close(fds[0]);
	/* An open device keeps its number, which other cases need. */
	for (i = 0; access("/dev/accel/accel0", F_OK); i++) {
		check(i < 600);
		device_bind(0, "unbind");
		usleep(100000);
		device_bind(0, "bind");
	}
}

/* Returns whether the process was still dying when a task of ours was dispatched. */
static bool dispatches_beside_a_death(void)
{
	struct overtake_task_segment segment = { .cpu_key = 1, .expected_ns = 1000 };
	struct drm_overtake_context_create create = { .max_priority = 254, .flags = 1 };
	struct overtake_task_event event;
	static struct overtake_result results[OVERTAKE_MAX_SEGMENTS];
	struct drm_overtake_task_submit submit = { .segments = (uintptr_t)&segment, .tag = 5,
						   .deadline_ns = ~0ull, .segment_count = 1 };
	struct drm_overtake_task_events events = { .events = (uintptr_t)&event, .event_count = 1,
						   .results = (uintptr_t)results,
						   .result_count = OVERTAKE_MAX_SEGMENTS,
						   .deadline_ns = NEVER };
	int pipes[2], fds[4], error, fd = device_open(0);
	uint32_t fd_count;
	bool is_dying;
	char byte;
	pid_t pid;

	check_equal(chmod("/dev/accel/accel0", 0666), 0);
	check_equal(pipe(pipes), 0);
	pid = fork();
	if (!pid) {
		check_equal(setuid(NOBODY), 0);
		submit_tasks(32768, fds, &fd_count, &error);
		check_equal(write(pipes[1], "", 1), 1);
		pause();
	}
	check_equal(read(pipes[0], &byte, 1), 1);
	check_equal(device_ioctl(fd, DRM_IOCTL_OVERTAKE_CONTEXT_CREATE, &create), 0);
	submit.context_id = events.context_id = create.context_id;
	check_equal(device_ioctl(fd, DRM_IOCTL_OVERTAKE_TASK_SUBMIT, &submit), 0);
	kill(pid, SIGKILL);
	check_equal(device_ioctl(fd, DRM_IOCTL_OVERTAKE_TASK_EVENTS, &events), 0);
	check_equal(event.tag, 5);
	check_equal(event.type, OVERTAKE_TASK_RUN_CPU);
	is_dying = !waitpid(pid, NULL, WNOHANG);
	if (is_dying)
		check_equal(waitpid(pid, NULL, 0), pid);
	close(pipes[0]);
	close(pipes[1]);
	close(fd);
	return is_dying;
}

/*
 * A process with thousands of tasks dies.  All of them are before a task of this process, which is
 * dispatched meanwhile.  A busy host may let this thread sleep until the other process is dead.
 */
static void a_death_of_many_tasks_stops_no_dispatching(void)
{
	int round;

	for (round = 0; !dispatches_beside_a_death(); round++)
		check(round < 10);
}

#define FCS	24u

static uint64_t duration_ns(uint32_t fc)
{
	return 3 * MS + fc * 177777;
}

/*
 * The core of a job for any core shows when an FC of another client ends: see
 * docs/design/security.md, "What strangers see".  The attacker chooses the length of its probes,
 * and reads device time.
 */
static void placement_tells_when_others_fcs_end(void)
{
	struct client victim = client_open_at_zero();
	uint64_t now_ns = 0, begin_ns = 0, recovered = 0;
	const uint64_t step_ns = 50000;
	uint32_t fc, tag = 0;
	struct job job;

	client = client_open(0, 254);
	put_delay(&client, 0, 1);
	for (fc = 0; fc < FCS; fc++)
		put_delay(&victim, fc, duration_ns(fc));
	for (fc = 0; fc < FCS; fc++) {
		struct overtake_extension_placement placement;

		job_init(&job, &victim, fc, fc, 1);
		job.submit.core = 1;
		job.submit.deadline_ns = NEVER;
		check_equal(job_submit(&victim, &job), 0);
		begin_ns = now_ns;
		do {
			now_ns += step_ns;
			check_equal(advance_clock(0, now_ns), 0);
			placement = (struct overtake_extension_placement){
				.base = { .type = OVERTAKE_EXTENSION_PLACEMENT }, .cores = 3,
			};
			job_init(&job, &client, ++tag, 0, 1);
			job.submit.core = 0;
			job.submit.deadline_ns = NEVER;
			job.submit.extensions = (uintptr_t)&placement;
			check_equal(job_submit(&client, &job), 0);
			check_equal(advance_clock(0, now_ns + 10), 0);
			collect_all();
		} while (placement.core != 1);
		recovered += now_ns - begin_ns >= duration_ns(fc) &&
			     now_ns - begin_ns < duration_ns(fc) + 2 * step_ns;
	}
	printf("# %llu of %u durations to %llu us\n", (unsigned long long)recovered, FCS,
	       2 * step_ns / 1000ull);
	check_equal(recovered, FCS);
	client_close(&client);
	client_close(&victim);
}

const struct test_case end_cases[] = {
	{ "ends-edges-are-enough", FUNCTIONAL, edges_are_enough_for_who_collects_all },
	{ "ends-a-readable-file-wakes-no-poller-again", MANUAL,
	  a_readable_file_wakes_no_poller_again },
	{ "ends-high-first", MANUAL, high_ends_are_delivered_first },
	{ "ends-waiters-are-limited", MANUAL, waiters_of_a_context_are_limited },
	{ "ends-tasks-of-a-user-are-limited", FUNCTIONAL, tasks_of_a_user_are_limited },
	{ "ends-a-destroyed-context-leaves-nothing", FUNCTIONAL,
	  a_destroyed_context_leaves_nothing },
	{ "ends-a-file-in-flight-leaves-nothing", FUNCTIONAL, a_file_in_flight_leaves_nothing },
	{ "ends-a-file-in-flight-outlives-its-device", FUNCTIONAL,
	  a_file_in_flight_outlives_its_device },
	{ "ends-a-death-stops-no-dispatching", FUNCTIONAL,
	  a_death_of_many_tasks_stops_no_dispatching },
	{ "ends-placement-tells-when-fcs-end", MANUAL, placement_tells_when_others_fcs_end },
	{ 0 },
};
