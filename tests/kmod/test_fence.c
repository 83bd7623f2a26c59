// SPDX-License-Identifier: MIT
/* Fences in and out: syncobjs and sync_files. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "dma_buf.h"
#include "ring.h"

#define MANUAL		"cores=2 mode=timed profile=ideal manual_clock=1"
#define FUNCTIONAL	"cores=2 mode=functional profile=ideal"
#define TIMED		"cores=2 mode=timed profile=ideal"
#define MS		1000000ull
#define NEVER		OVERTAKE_DEADLINE_NEVER

/*
 * @first takes core 1; @second waits for the fence of @first, and takes core 2.
 */
struct pair {
	struct client client;
	struct job first, second;
	struct sync_chain first_chain, second_chain;
	uint32_t sync, done;
};

static void pair_prepare(struct pair *pair, uint64_t point, uint64_t cycles)
{
	pair->client = client_open(0, 254);
	pair->sync = syncobj_create(pair->client.fd);
	pair->done = syncobj_create(pair->client.fd);
	put_delay(&pair->client, 0, cycles);
	job_init(&pair->first, &pair->client, 1, 0, 1);
	pair->first.submit.core = 1;
	sync_chain_init(&pair->first_chain, &pair->first);
	sync_chain_out(&pair->first_chain, pair->sync, point);
	job_init(&pair->second, &pair->client, 2, 0, 1);
	pair->second.submit.core = 2;
	sync_chain_init(&pair->second_chain, &pair->second);
	sync_chain_in(&pair->second_chain, pair->sync, point);
	sync_chain_out(&pair->second_chain, pair->done, 0);
}

static void pair_open(struct pair *pair, uint64_t point)
{
	restart_clock(0);
	pair_prepare(pair, point, 5 * MS);
}

static void pair_submit(struct pair *pair)
{
	check_equal(job_submit(&pair->client, &pair->first), 0);
	check_equal(job_submit(&pair->client, &pair->second), 0);
}

static void job_waits_for_a_fence_at(uint64_t point)
{
	struct overtake_result result;
	struct pair pair;

	pair_open(&pair, point);
	pair_submit(&pair);
	check_equal(advance_clock(0, 4 * MS), 0);
	check(!syncobj_is_signalled(pair.client.fd, pair.sync, point));
	check(!syncobj_is_signalled(pair.client.fd, pair.done, 0));
	check_equal(job_wait(&pair.client, 2, 0, &result), -ETIMEDOUT);
	/* Core 2 is idle, but the second job arrives only when the first has ended. */
	check_equal(advance_clock(0, 6 * MS), 0);
	check(syncobj_is_signalled(pair.client.fd, pair.sync, point));
	check_equal(job_wait(&pair.client, 1, 0, &result), 0);
	check_equal(result.end_ns, 5 * MS);
	check(!syncobj_is_signalled(pair.client.fd, pair.done, 0));
	check_equal(advance_clock(0, 12 * MS), 0);
	check_equal(job_wait(&pair.client, 2, 0, &result), 0);
	check_equal(result.status, 0);
	check_equal(result.queued_ns, 6 * MS);
	check_equal(result.end_ns, 11 * MS);
	check(syncobj_is_signalled(pair.client.fd, pair.done, 0));
	if (point)
		check_equal(syncobj_point(pair.client.fd, pair.sync), point);
	client_close(&pair.client);
}

static void job_waits_for_a_binary_syncobj(void)
{
	job_waits_for_a_fence_at(0);
}

static void job_waits_for_a_point_of_a_timeline(void)
{
	job_waits_for_a_fence_at(7);
}

/* Without the manual clock a job arrives by itself, in the instant of the signal. */
static void arrival_is_the_signal(void)
{
	struct overtake_result first, second;
	struct pair pair;

	pair_prepare(&pair, 3, 300 * MS);
	pair_submit(&pair);
	check_equal(job_wait(&pair.client, 2, NEVER, &second), 0);
	check_equal(job_wait(&pair.client, 1, 0, &first), 0);
	check(second.queued_ns >= first.end_ns);
	check(second.start_ns >= second.queued_ns);
	check_equal(second.executed_ns, 300 * MS);
	client_close(&pair.client);
}

static void waits_for_all_of_its_fences(void)
{
	struct client client = client_open_at_zero();
	struct overtake_result result;
	struct sync_chain chain;
	uint32_t syncs[4];
	struct job job;
	uint32_t i;

	for (i = 0; i < 4; i++) {
		syncs[i] = syncobj_create(client.fd);
		put_delay(&client, i, (4 - i) * MS); /* the last one is the first to end */
		job_init(&job, &client, i, i, 1);
		job.submit.core = 1;
		sync_chain_init(&chain, &job);
		sync_chain_out(&chain, syncs[i], i % 2 ? 10 : 0);
		check_equal(job_submit(&client, &job), 0);
	}
	job_init(&job, &client, 9, 3, 1);
	job.submit.core = 2;
	sync_chain_init(&chain, &job);
	for (i = 0; i < 4; i++)
		sync_chain_in(&chain, syncs[i], i % 2 ? 10 : 0);
	check_equal(job_submit(&client, &job), 0);
	check_equal(advance_clock(0, 9 * MS + 1), 0);	/* three of four have ended */
	check_equal(job_wait(&client, 2, 0, &result), 0);
	check_equal(advance_clock(0, 10 * MS), 0);	/* the fourth, too: the job arrives */
	check_equal(advance_clock(0, 13 * MS), 0);
	check_equal(job_wait(&client, 9, 0, &result), 0);
	check_equal(result.queued_ns, 10 * MS);
	client_close(&client);
}

static void failed_fence_ends_the_job(void)
{
	struct overtake_insn bad = { .opcode = 999 };
	struct overtake_result result;
	struct pair pair;
	int sync_file;

	pair_prepare(&pair, 0, 1);
	put_insn(&pair.client, 0, &bad);
	pair_submit(&pair);
	check_equal(job_wait(&pair.client, 2, NEVER, &result), 0);
	check_equal(result.status, -ENOEXEC);
	check_equal(result.queued_ns, 0);
	check_equal(result.start_ns, 0);
	check_equal(result.core, 0);
	check_equal(result.fcs_done, 0);
	check_equal(result.fault, OVERTAKE_FAULT_NONE);
	/* The fence of the second job has failed, too. */
	sync_file = syncobj_to_sync_file(pair.client.fd, pair.done);
	check_equal(sync_file_status(sync_file), -ENOEXEC);
	close(sync_file);
	/* A fence that failed before the job was submitted. */
	pair.second.submit.tag = 3;
	check_equal(job_submit(&pair.client, &pair.second), 0);
	check_equal(job_wait(&pair.client, 3, NEVER, &result), 0);
	check_equal(result.status, -ENOEXEC);
	client_close(&pair.client);
}

static void cancel_ends_a_blocked_job(void)
{
	struct overtake_result result;
	struct pair pair;

	pair_open(&pair, 0);
	pair_submit(&pair);
	check_equal(job_cancel(&pair.client, 2), 0);
	check_equal(job_wait(&pair.client, 2, NEVER, &result), 0);
	check_equal(result.status, -ECANCELED);
	check_equal(result.queued_ns, 0);
	check(syncobj_is_signalled(pair.client.fd, pair.done, 0));
	check_equal(job_cancel(&pair.client, 2), -ENOENT);
	/* The fence is still signalled, without a waiter. */
	check_equal(advance_clock(0, 6 * MS), 0);
	check_equal(job_wait(&pair.client, 1, 0, &result), 0);
	check_equal(result.status, 0);
	client_close(&pair.client);
}

static void deadline_ends_a_blocked_job(void)
{
	struct overtake_result result;
	struct pair pair;

	pair_open(&pair, 0);
	pair.second.submit.deadline_ns = 2 * MS;
	pair_submit(&pair);
	check_equal(advance_clock(0, 3 * MS), 0);
	check_equal(job_wait(&pair.client, 2, 0, &result), 0);
	check_equal(result.status, -ETIME);
	check_equal(result.end_ns, 2 * MS);
	client_close(&pair.client);
}

static void destroyed_context_ends_blocked_jobs(void)
{
	struct overtake_result result;
	struct client other;
	struct pair pair;
	uint32_t id;

	pair_open(&pair, 0);
	other = client_open(0, 254);
	check_equal(job_submit(&pair.client, &pair.first), 0);
	check_equal(context_create(pair.client.fd, 254, 0, &id), 0);
	pair.second.submit.context_id = id;
	check_equal(job_submit(&pair.client, &pair.second), 0);
	check_equal(context_destroy(pair.client.fd, id), 0);
	check(syncobj_is_signalled(pair.client.fd, pair.done, 0));
	check_equal(advance_clock(0, 6 * MS), 0);
	check_equal(job_wait(&pair.client, 1, 0, &result), 0);
	check_equal(result.status, 0);
	client_close(&pair.client);
	client_close(&other);
}

/* close() ends the file's blocked jobs, and so a job of another file that waits for one of them. */
static void closed_file_ends_blocked_jobs(void)
{
	struct overtake_result result;
	struct sync_chain chain;
	struct client other;
	struct pair pair;
	struct job job;
	uint32_t sync;
	int sync_file;

	pair_open(&pair, 0);
	other = client_open(0, 254);
	pair_submit(&pair);
	sync = syncobj_create(other.fd);
	sync_file = syncobj_to_sync_file(pair.client.fd, pair.done);
	syncobj_from_sync_file(other.fd, sync, sync_file);
	put_delay(&other, 0, 1000);
	job_init(&job, &other, 5, 0, 1);
	sync_chain_init(&chain, &job);
	sync_chain_in(&chain, sync, 0);
	check_equal(job_submit(&other, &job), 0);
	check_equal(sync_file_status(sync_file), 0);
	client_close(&pair.client);
	check_equal(job_wait(&other, 5, NEVER, &result), 0);
	check_equal(result.status, -ECANCELED);
	check_equal(sync_file_status(sync_file), -ECANCELED);
	close(sync_file);
	client_close(&other);
}

/* The device goes away under a job that waits. */
static void unbind_ends_blocked_jobs(void)
{
	struct overtake_result result;
	struct pair pair;
	int sync_file;

	pair_open(&pair, 0);
	pair.second.submit.result = pair.client.data.address + RESULT_OFFSET;
	pair_submit(&pair);
	sync_file = syncobj_to_sync_file(pair.client.fd, pair.done);
	device_bind(0, "unbind");
	check_equal(sync_file_status(sync_file), -ENODEV);
	memcpy(&result, pair.client.data.data + RESULT_OFFSET, sizeof(result));
	check_equal(result.tag, 2);
	check_equal(result.status, -ENODEV);
	check_equal(result.queued_ns, 0);
	close(sync_file);
	client_close(&pair.client);
	device_bind(0, "bind");
}

/* Takes a file descriptor of another process. */
static int take_fd(pid_t process, int number)
{
	int pidfd = (int)syscall(SYS_pidfd_open, process, 0);
	int fd = (int)syscall(SYS_pidfd_getfd, pidfd, number, 0);

	check_message(pidfd >= 0 && fd >= 0, "pidfd: %s", strerror(errno));
	close(pidfd);
	return fd;
}

static void kill_ends_blocked_jobs(void)
{
	struct pollfd file = { .events = POLLIN };
	int pipes[2], number, status;
	pid_t child;

	restart_clock(0);
	check_equal(pipe(pipes), 0);
	child = fork();
	if (!child) {
		struct pair pair;

		pair_prepare(&pair, 0, 5 * MS);
		pair_submit(&pair);
		number = syncobj_to_sync_file(pair.client.fd, pair.done);
		if (write(pipes[1], &number, sizeof(number)) == sizeof(number))
			pause();
		_exit(1);
	}
	close(pipes[1]);
	check_equal(read(pipes[0], &number, sizeof(number)), sizeof(number));
	close(pipes[0]);
	file.fd = take_fd(child, number);
	check_equal(poll(&file, 1, 0), 0);
	check_equal(kill(child, SIGKILL), 0);
	check_equal(waitpid(child, &status, 0), child);
	check_equal(poll(&file, 1, -1), 1);
	check_equal(sync_file_status(file.fd), -ECANCELED);
	close(file.fd);
}

static void uring_job_waits_for_a_fence(void)
{
	struct completion completion;
	struct io_uring ring;
	struct pair pair;

	pair_prepare(&pair, 4, 300 * MS);
	ring_open_default(&ring);
	ring_submit_job(&ring, &pair.client, &pair.first);
	ring_submit_job(&ring, &pair.client, &pair.second);
	check(ring_is_empty(&ring));
	completion = ring_reap(&ring);
	check_equal(completion.user_data, 1);
	completion = ring_reap(&ring);
	check_equal(completion.user_data, 2);
	check_equal(completion.status, 0);
	check_equal(completion.executed_ns, 300 * MS);
	check(syncobj_is_signalled(pair.client.fd, pair.done, 0));
	io_uring_queue_exit(&ring);
	client_close(&pair.client);
}

static void uring_blocked_job_is_cancelled(void)
{
	struct completion completion;
	bool cancelled;
	struct io_uring ring;
	struct pair pair;

	pair_prepare(&pair, 0, 900 * MS);
	check_equal(job_submit(&pair.client, &pair.first), 0);
	ring_open_default(&ring);
	ring_submit_job(&ring, &pair.client, &pair.second);
	ring_cancel_job(&ring, &pair.client, 2, 77);
	completion = ring_reap(&ring);
	cancelled = completion.user_data == 2;
	check_equal(completion.user_data, cancelled ? 2 : 77);
	check_equal(completion.status, cancelled ? -ECANCELED : 0);
	completion = ring_reap(&ring);
	check_equal(completion.user_data, cancelled ? 77 : 2);
	check_equal(completion.status, cancelled ? 0 : -ECANCELED);
	check(syncobj_is_signalled(pair.client.fd, pair.done, 0));
	io_uring_queue_exit(&ring);
	client_close(&pair.client);
}

/* A ring that goes away with a blocked job in it. */
static void abandoned_ring_ends_a_blocked_job(void)
{
	struct overtake_result result;
	struct io_uring ring;
	struct pair pair;

	pair_open(&pair, 0);
	check_equal(job_submit(&pair.client, &pair.first), 0);
	ring_open_to_abandon(&ring);
	ring_submit_job(&ring, &pair.client, &pair.second);
	check(!syncobj_is_signalled(pair.client.fd, pair.done, 0));
	io_uring_queue_exit(&ring);
	check_equal(job_cancel(&pair.client, 1), 0);
	check_equal(advance_clock(0, 6 * MS), 0);
	check_equal(job_wait(&pair.client, 1, NEVER, &result), 0);
	/* Only its own end could still signal the fence. */
	check(syncobj_is_signalled(pair.client.fd, pair.done, 0));
	client_close(&pair.client);
}

static void sync_file_is_notified(void)
{
	struct overtake_result result;
	struct pollfd poll_file = { .events = POLLIN };
	struct pair pair;

	pair_open(&pair, 0);
	pair_submit(&pair);
	poll_file.fd = syncobj_to_sync_file(pair.client.fd, pair.done);
	check_equal(sync_file_status(poll_file.fd), 0);
	check_equal(poll(&poll_file, 1, 0), 0);
	check_equal(advance_clock(0, 6 * MS), 0);
	check_equal(poll(&poll_file, 1, 0), 0);
	check_equal(advance_clock(0, 12 * MS), 0);
	check_equal(poll(&poll_file, 1, 0), 1);
	check_equal(sync_file_status(poll_file.fd), 1);
	check_equal(job_wait(&pair.client, 2, 0, &result), 0);
	close(poll_file.fd);
	client_close(&pair.client);
}

#define CHAIN_LENGTH	1000u

static void submit_chain(struct client *client, uint32_t timeline)
{
	struct sync_chain chain;
	struct job job;
	uint32_t i;

	for (i = 1; i <= CHAIN_LENGTH; i++) {
		job_init(&job, client, i, 0, 1);
		job.submit.core = 1 + i % 2;
		sync_chain_init(&chain, &job);
		if (i > 1)
			sync_chain_in(&chain, timeline, i - 1);
		sync_chain_out(&chain, timeline, i);
		check_equal(job_submit(client, &job), 0);
	}
}

static void long_chain_runs_in_order(void)
{
	struct client client = client_open(0, 254);
	uint32_t timeline = syncobj_create(client.fd);
	struct overtake_result result;
	uint64_t previous_ns = 0;
	uint32_t i;

	put_delay(&client, 0, MS / 10);
	submit_chain(&client, timeline);
	for (i = 1; i <= CHAIN_LENGTH; i++) {
		check_equal(job_wait(&client, i, NEVER, &result), 0);
		check_equal(result.status, 0);
		check(result.start_ns >= previous_ns);
		previous_ns = result.end_ns;
	}
	syncobj_wait(client.fd, timeline, CHAIN_LENGTH);
	check_equal(syncobj_point(client.fd, timeline), CHAIN_LENGTH);
	client_close(&client);
}

/* The first job fails: none of the others runs, and no stack overflows. */
static void long_chain_fails_as_a_whole(void)
{
	struct client client = client_open_at_zero();
	uint32_t timeline = syncobj_create(client.fd);
	struct overtake_result result;
	uint32_t i;

	put_delay(&client, 0, MS);
	submit_chain(&client, timeline);
	check_equal(job_cancel(&client, 1), 0);
	check_equal(advance_clock(0, MS / 2), 0);
	for (i = 1; i <= CHAIN_LENGTH; i++) {
		check_equal(job_wait(&client, i, NEVER, &result), 0);
		check_equal(result.status, -ECANCELED);
		check_equal(result.start_ns, 0);
	}
	client_close(&client);
}

#define HERD_CONTEXTS	4u
#define HERD_JOBS	1000u

/* Submits all jobs of the herd, the last one to HIGH. */
static void submit_herd(struct client *client, uint32_t *contexts, uint32_t fence)
{
	struct sync_chain chain;
	struct job job;
	uint32_t i, j;

	for (i = 0; i < HERD_CONTEXTS; i++) {
		check_equal(context_create(client->fd, 255, 0, &contexts[i]), 0);
		for (j = 1; j <= HERD_JOBS; j++) {
			job_init(&job, client, j, 0, 1);
			job.submit.context_id = contexts[i];
			job.submit.core = 1;
			if (i == HERD_CONTEXTS - 1 && j == HERD_JOBS)
				job.submit.priority = 255;
			sync_chain_init(&chain, &job);
			sync_chain_in(&chain, fence, 0);
			check_equal(job_submit(client, &job), 0);
		}
	}
}

/* Thousands of jobs wait for one fence: each is notified once, and HIGH is not behind them. */
static void herd_behind_one_fence(bool fails)
{
	struct client client = client_open_at_zero();
	uint32_t fence = syncobj_create(client.fd);
	uint32_t contexts[HERD_CONTEXTS], i, j;
	uint64_t first_ns = UINT64_MAX, high_ns = 0;
	struct overtake_result result;
	struct sync_chain chain;
	struct client herd;
	struct job job;

	put_delay(&client, 0, MS);
	job_init(&job, &client, 1, 0, 1);
	job.submit.core = 2;
	sync_chain_init(&chain, &job);
	sync_chain_out(&chain, fence, 0);
	check_equal(job_submit(&client, &job), 0);
	submit_herd(&client, contexts, fence);
	if (fails)
		check_equal(job_cancel(&client, 1), 0);
	check_equal(advance_clock(0, 2 * MS), 0);
	check_equal(advance_clock(0, (HERD_CONTEXTS * HERD_JOBS + 10) * 2 * MS), 0);
	for (i = 0; i < HERD_CONTEXTS; i++) {
		herd = client;
		herd.context = contexts[i];
		for (j = 1; j <= HERD_JOBS; j++) {
			check_equal(job_wait(&herd, j, 0, &result), 0);
			check_equal(result.status, fails ? -ECANCELED : 0);
			first_ns = result.start_ns < first_ns ? result.start_ns : first_ns;
			high_ns = result.start_ns;
		}
		check_equal(job_wait(&herd, 1, 0, &result), -ENOENT);
	}
	check_equal(high_ns, first_ns);
	client_close(&client);
}

static void herd_behind_a_fence_that_is_signalled(void)
{
	herd_behind_one_fence(false);
}

static void herd_behind_a_fence_that_fails(void)
{
	herd_behind_one_fence(true);
}

const struct test_case fence_cases[] = {
	{ "fence-failed-one-ends-the-job", FUNCTIONAL, failed_fence_ends_the_job },
	{ "fence-arrival-is-the-signal", TIMED, arrival_is_the_signal },
	{ "fence-long-chain-runs-in-order", TIMED, long_chain_runs_in_order },
	{ "fence-uring-job-waits", TIMED, uring_job_waits_for_a_fence },
	{ "fence-uring-blocked-job-is-cancelled", TIMED, uring_blocked_job_is_cancelled },
	{ "fence-binary-syncobj", MANUAL, job_waits_for_a_binary_syncobj },
	{ "fence-point-of-a-timeline", MANUAL, job_waits_for_a_point_of_a_timeline },
	{ "fence-job-waits-for-all", MANUAL, waits_for_all_of_its_fences },
	{ "fence-cancel-ends-a-blocked-job", MANUAL, cancel_ends_a_blocked_job },
	{ "fence-deadline-ends-a-blocked-job", MANUAL, deadline_ends_a_blocked_job },
	{ "fence-destroyed-context-ends-blocked-jobs", MANUAL,
	  destroyed_context_ends_blocked_jobs },
	{ "fence-closed-file-ends-blocked-jobs", MANUAL, closed_file_ends_blocked_jobs },
	{ "fence-kill-ends-blocked-jobs", MANUAL, kill_ends_blocked_jobs },
	{ "fence-unbind-ends-blocked-jobs", MANUAL, unbind_ends_blocked_jobs },
	{ "fence-abandoned-ring-ends-a-blocked-job", MANUAL, abandoned_ring_ends_a_blocked_job },
	{ "fence-sync-file-is-notified", MANUAL, sync_file_is_notified },
	{ "fence-long-chain-fails-as-a-whole", MANUAL, long_chain_fails_as_a_whole },
	{ "fence-herd-arrives", MANUAL, herd_behind_a_fence_that_is_signalled },
	{ "fence-herd-fails", MANUAL, herd_behind_a_fence_that_fails },
	{ 0 },
};
