// SPDX-License-Identifier: MIT
/* The io_uring backend. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "ring.h"

#define FUNCTIONAL	"cores=2 mode=functional profile=ideal"
#define TIMED		"cores=2 mode=timed profile=ideal"
#define MS		1000000ull
#define NEVER		OVERTAKE_DEADLINE_NEVER

static struct overtake_result record(const struct client *client, unsigned int slot)
{
	struct overtake_result result;

	memcpy(&result, client->data.data + RESULT_OFFSET + slot * sizeof(result), sizeof(result));
	return result;
}

static void prepare_job(struct job *job, const struct client *client, uint64_t tag,
			uint32_t fc_count, unsigned int slot)
{
	job_init(job, client, tag, 0, fc_count);
	job->submit.result = client->data.address + RESULT_OFFSET +
			     slot * sizeof(struct overtake_result);
}

static void job_ends_with_a_completion(void)
{
	struct client client = client_open(0, 254);
	struct overtake_result result;
	struct completion completion;
	struct io_uring ring;
	struct job job;

	ring_open_default(&ring);
	put_delay(&client, 0, 3 * MS);
	put_delay(&client, 1, 2 * MS);
	prepare_job(&job, &client, 42, 2, 0);
	ring_submit_job(&ring, &client, &job);
	completion = ring_reap(&ring);
	check_equal(completion.user_data, 42);
	check_equal(completion.status, 0);
	check_equal(completion.executed_ns, 5 * MS);
	result = record(&client, 0);
	check_equal(result.tag, 42);
	check_equal(result.executed_ns, 5 * MS);
	/* Nothing is left to collect. */
	check_equal(job_wait(&client, 42, NEVER, &result), -ENOENT);
	check_equal(job_wait_any(&client, NEVER, &result), -ENOENT);
	io_uring_queue_exit(&ring);
	client_close(&client);
}

static void fault_shows_in_the_completion(void)
{
	struct client client = client_open(0, 254);
	struct overtake_insn insn = { .opcode = 999 };
	struct completion completion;
	struct io_uring ring;
	struct job job;

	ring_open_default(&ring);
	put_insn(&client, 0, &insn);
	prepare_job(&job, &client, 1, 1, 0);
	ring_submit_job(&ring, &client, &job);
	completion = ring_reap(&ring);
	check_equal(completion.status, -ENOEXEC);
	check_equal(record(&client, 0).fault, OVERTAKE_FAULT_OPCODE);
	io_uring_queue_exit(&ring);
	client_close(&client);
}

static void refusal_completes_in_submission(void)
{
	struct client client = client_open(0, 254);
	struct completion completion;
	struct io_uring ring;
	struct job job;

	ring_open_default(&ring);
	put_delay(&client, 0, 100);
	memset(client.data.data + RESULT_OFFSET, 0xee, sizeof(struct overtake_result));
	prepare_job(&job, &client, 1, 1, 0);
	job.submit.core = 3;
	ring_submit_job(&ring, &client, &job);
	completion = ring_reap(&ring);
	check_equal(completion.status, -EINVAL);
	check_equal(client.data.data[RESULT_OFFSET], 0xee);
	check_equal(client.data.data[RESULT_OFFSET + 63], 0xee);
	io_uring_queue_exit(&ring);
	client_close(&client);
}

static void tag_in_use_is_refused_late_and_cleanly(void)
{
	struct client client = client_open(0, 254);
	struct completion completion;
	struct io_uring ring;
	struct job job;

	ring_open_default(&ring);
	put_delay(&client, 0, 300 * MS);
	prepare_job(&job, &client, 1, 1, 0);
	ring_submit_job(&ring, &client, &job);
	prepare_job(&job, &client, 1, 1, 1);
	ring_submit_job(&ring, &client, &job);
	completion = ring_reap(&ring);
	check_equal(completion.status, -EEXIST);
	check_equal(job_submit(&client, &job), -EEXIST);
	completion = ring_reap(&ring);
	check_equal(completion.status, 0);
	/* The tag is free again. */
	ring_submit_job(&ring, &client, &job);
	completion = ring_reap(&ring);
	check_equal(completion.status, 0);
	io_uring_queue_exit(&ring);
	client_close(&client);
}

static void batch_of_jobs_all_complete(void)
{
	struct client client = client_open(0, 254);
	struct job jobs[100];
	struct io_uring ring;
	uint64_t i, sum = 0;

	ring_open_default(&ring);
	put_delay(&client, 0, 100);
	for (i = 0; i < 100; i++) {
		job_init(&jobs[i], &client, i, 0, 1);
		ring_prepare(&ring, client.fd, OVERTAKE_URING_SUBMIT, &jobs[i].submit,
			     sizeof(jobs[i].submit), i);
	}
	check_equal(io_uring_submit(&ring), 100);
	for (i = 0; i < 100; i++) {
		struct completion completion = ring_reap(&ring);

		check_equal(completion.status, 0);
		sum += completion.user_data;
	}
	check_equal(sum, 99 * 100 / 2);
	check(ring_is_empty(&ring));
	io_uring_queue_exit(&ring);
	client_close(&client);
}

static void submission_by_a_worker_thread(void)
{
	struct client client = client_open(0, 254);
	struct io_uring_sqe *sqe;
	struct io_uring ring;
	struct job job;
	uint64_t i;

	ring_open_default(&ring);
	put_delay(&client, 0, 100);
	for (i = 0; i < 20; i++) {
		job_init(&job, &client, i, 0, 1);
		sqe = ring_prepare(&ring, client.fd, OVERTAKE_URING_SUBMIT, &job.submit,
				   sizeof(job.submit), i);
		sqe->flags |= IOSQE_ASYNC;
		check_equal(io_uring_submit(&ring), 1);
		check_equal(ring_reap(&ring).status, 0);
	}
	io_uring_queue_exit(&ring);
	client_close(&client);
}

static void submission_by_the_polling_thread(void)
{
	struct client client = client_open(0, 254);
	struct io_uring ring;
	struct job job;

	ring_open(&ring, 8, IORING_SETUP_SQE128 | IORING_SETUP_CQE32 | IORING_SETUP_SQPOLL);
	put_delay(&client, 0, 100);
	job_init(&job, &client, 6, 0, 1);
	ring_prepare(&ring, client.fd, OVERTAKE_URING_SUBMIT, &job.submit, sizeof(job.submit), 6);
	check_equal(io_uring_submit(&ring), 1);
	check_equal(ring_reap(&ring).status, 0);
	io_uring_queue_exit(&ring);
	client_close(&client);
}

static void small_cqes_do(void)
{
	struct client client = client_open(0, 254);
	struct completion completion;
	struct io_uring ring;
	struct job job;

	ring_open(&ring, 8, IORING_SETUP_SQE128);
	put_delay(&client, 0, 100);
	job_init(&job, &client, 6, 0, 1);
	ring_submit_job(&ring, &client, &job);
	completion = ring_reap(&ring);
	check_equal(completion.user_data, 6);
	check_equal(completion.status, 0);
	io_uring_queue_exit(&ring);
	client_close(&client);
}

static void small_sqes_are_refused(void)
{
	struct client client = client_open(0, 254);
	struct io_uring ring;
	struct job job;

	ring_open(&ring, 8, IORING_SETUP_CQE32);
	put_delay(&client, 0, 100);
	job_init(&job, &client, 6, 0, 1);
	ring_submit_job(&ring, &client, &job);
	check_equal(ring_reap(&ring).status, -EINVAL);
	ring_cancel_job(&ring, &client, 6, 7);
	check_equal(ring_reap(&ring).status, -EINVAL);
	io_uring_queue_exit(&ring);
	client_close(&client);
}

static void unknown_commands_are_refused(void)
{
	static const uint32_t unknown[] = { 0, 8, 0x80000001u };
	struct client client = client_open(0, 254);
	struct io_uring ring;
	struct job job;
	unsigned int i;

	ring_open_default(&ring);
	job_init(&job, &client, 6, 0, 1);
	for (i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		ring_prepare(&ring, client.fd, unknown[i], &job.submit, sizeof(job.submit), 6);
		check_equal(io_uring_submit(&ring), 1);
		check_equal(ring_reap(&ring).status, -EINVAL);
	}
	io_uring_queue_exit(&ring);
	client_close(&client);
}

static void cancel_command_ends_a_waiting_job(void)
{
	struct client client = client_open(0, 254);
	struct drm_overtake_cancel cancel[5] = { { .tag = 2, .context_id = client.context } };
	struct completion completion;
	struct io_uring ring;
	struct job job;

	ring_open_default(&ring);
	put_delay(&client, 0, 500 * MS);
	job_init(&job, &client, 1, 0, 1);
	job.submit.core = 1;
	ring_submit_job(&ring, &client, &job);
	job_init(&job, &client, 2, 0, 1);
	job.submit.core = 1;
	ring_submit_job(&ring, &client, &job);

	/* The rest of the payload must be zero. */
	cancel[4].pad = 1;
	ring_prepare(&ring, client.fd, OVERTAKE_URING_CANCEL, cancel, sizeof(cancel), 100);
	check_equal(io_uring_submit(&ring), 1);
	check_equal(ring_reap(&ring).status, -EINVAL);

	ring_cancel_job(&ring, &client, 2, 101);
	ring_cancel_job(&ring, &client, 3, 102);
	completion = ring_reap(&ring);
	check_equal(completion.user_data, 101);
	check_equal(completion.status, 0);
	/* The cancel of an unknown job is answered at once, the cancelled job by task work. */
	completion = ring_reap(&ring);
	if (completion.user_data == 2) {
		check_equal(completion.status, -ECANCELED);
		completion = ring_reap(&ring);
		check_equal(completion.user_data, 102);
		check_equal(completion.status, -ENOENT);
	} else {
		check_equal(completion.user_data, 102);
		check_equal(completion.status, -ENOENT);
		completion = ring_reap(&ring);
		check_equal(completion.user_data, 2);
		check_equal(completion.status, -ECANCELED);
	}
	completion = ring_reap(&ring);
	check_equal(completion.user_data, 1);
	check_equal(completion.status, 0);
	io_uring_queue_exit(&ring);
	client_close(&client);
}

static void ioctl_cancel_reaches_ring_jobs(void)
{
	struct client client = client_open(0, 254);
	struct io_uring ring;
	struct job job;

	ring_open_default(&ring);
	put_delay(&client, 0, 500 * MS);
	job_init(&job, &client, 1, 0, 10);
	ring_submit_job(&ring, &client, &job);
	check_equal(job_cancel(&client, 1), 0);
	check_equal(ring_reap(&ring).status, -ECANCELED);
	io_uring_queue_exit(&ring);
	client_close(&client);
}

static void destroyed_context_completes_its_commands(void)
{
	struct client client = client_open(0, 254);
	struct io_uring ring;
	struct job job;
	int i;

	ring_open_default(&ring);
	put_delay(&client, 0, 900 * MS);
	for (i = 0; i < 30; i++) {
		job_init(&job, &client, i, 0, 1);
		ring_submit_job(&ring, &client, &job);
	}
	check_equal(context_destroy(client.fd, client.context), 0);
	for (i = 0; i < 30; i++)
		check_equal(ring_reap(&ring).status, -ECANCELED);
	check(ring_is_empty(&ring));
	io_uring_queue_exit(&ring);
	client_close(&client);
}

/* A ring that is closed waits for no job; the jobs end nevertheless. */
static void closing_the_ring_detaches_jobs(void)
{
	struct client client = client_open(0, 254);
	struct drm_overtake_bo_wait wait = {
		.handle = client.data.handle,
		.flags = OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE,
	};
	struct overtake_result result;
	struct io_uring ring;
	struct job job;
	int i;

	ring_open_to_abandon(&ring);
	put_delay(&client, 0, 100 * MS);
	for (i = 0; i < 60; i++) {
		prepare_job(&job, &client, i, 60, i);
		job.submit.core = 1;
		for (int fc = 0; fc < 60; fc++)
			job.fcs[fc].first_insn = 0;
		ring_submit_job(&ring, &client, &job);
	}
	io_uring_queue_exit(&ring);
	/* 360 s of work were in flight; each job ends with -ECANCELED. */
	wait.deadline_ns = monotonic_ns() + 60000 * (int64_t)MS;
	check_equal(device_ioctl(client.fd, DRM_IOCTL_OVERTAKE_BO_WAIT, &wait), 0);
	for (i = 0; i < 60; i++) {
		result = record(&client, i);
		check_equal(result.tag, i);
		check_equal(result.status, -ECANCELED);
	}
	client_close(&client);
}

static void polled_rings_are_refused(void)
{
	struct client client = client_open(0, 254);
	struct io_uring ring;
	struct job job;

	ring_open(&ring, 8, IORING_SETUP_SQE128 | IORING_SETUP_CQE32 | IORING_SETUP_IOPOLL);
	job_init(&job, &client, 6, 0, 1);
	ring_submit_job(&ring, &client, &job);
	check_equal(ring_reap(&ring).status, -EOPNOTSUPP);
	io_uring_queue_exit(&ring);
	client_close(&client);
}

/* Linked behind another request, the command is issued later, from the ring's copy. */
static void linked_submission_works(void)
{
	struct client client = client_open(0, 254);
	struct io_uring_sqe *sqe;
	struct io_uring ring;
	struct job job;

	ring_open_default(&ring);
	put_delay(&client, 0, 100);
	sqe = io_uring_get_sqe(&ring);
	memset(sqe, 0, 128);
	io_uring_prep_nop(sqe);
	sqe->user_data = 1;
	sqe->flags |= IOSQE_IO_LINK;
	job_init(&job, &client, 2, 0, 1);
	ring_prepare(&ring, client.fd, OVERTAKE_URING_SUBMIT, &job.submit, sizeof(job.submit), 2);
	check_equal(io_uring_submit(&ring), 2);
	check_equal(ring_reap(&ring).user_data, 1);
	check_equal(ring_reap(&ring).status, 0);
	io_uring_queue_exit(&ring);
	client_close(&client);
}

/*
 * No work is left to a worker thread: the client may free the arrays of the submission, and CANCEL
 * finds the job.  Zeroing its scratch takes a while.
 */
static void large_submission_is_complete_when_it_returns(void)
{
	struct client client = client_open(0, 254);
	struct io_uring ring;
	struct job job;

	ring_open_default(&ring);
	put_delay(&client, 0, 900 * MS);
	job_init(&job, &client, 5, 0, 1);
	job.submit.scratch_bytes = 32u << 20;
	ring_prepare(&ring, client.fd, OVERTAKE_URING_SUBMIT, &job.submit, sizeof(job.submit), 5);
	check_equal(io_uring_submit(&ring), 1);
	memset(&job, 0xff, sizeof(job));
	check_equal(job_cancel(&client, 5), 0);
	check_equal(ring_reap(&ring).status, -ECANCELED);
	io_uring_queue_exit(&ring);
	client_close(&client);
}

#define CONTENDED_JOBS	400u

static void submit_and_forget(struct client *client, uint64_t first_tag)
{
	struct io_uring ring;
	uint64_t tag;

	ring_open_default(&ring);
	for (tag = first_tag; tag < first_tag + CONTENDED_JOBS; tag++) {
		struct job job;

		job_init(&job, client, tag, 0, 1);
		ring_prepare(&ring, client->fd, OVERTAKE_URING_SUBMIT, &job.submit,
			     sizeof(job.submit), tag);
		check_equal(io_uring_submit(&ring), 1);
		memset(&job, 0xff, sizeof(job));
		check_equal(ring_reap(&ring).status, 0);
	}
	io_uring_queue_exit(&ring);
}

static void *submit_and_forget_too(void *client)
{
	submit_and_forget(client, 1000000);
	return NULL;
}

/* Submissions are complete also if another thread holds the reservations of their buffers. */
static void contended_submissions_are_complete_when_they_return(void)
{
	struct client client = client_open(0, 254);
	pthread_t thread;

	put_delay(&client, 0, 1);
	check_equal(pthread_create(&thread, NULL, submit_and_forget_too, &client), 0);
	submit_and_forget(&client, 1);
	check_equal(pthread_join(thread, NULL), 0);
	client_close(&client);
}

const struct test_case uring_cases[] = {
	{ "uring-fault-shows-in-the-completion", FUNCTIONAL, fault_shows_in_the_completion },
	{ "uring-refusal-completes-in-submission", FUNCTIONAL, refusal_completes_in_submission },
	{ "uring-batch-of-jobs-all-complete", FUNCTIONAL, batch_of_jobs_all_complete },
	{ "uring-submission-by-a-worker-thread", FUNCTIONAL, submission_by_a_worker_thread },
	{ "uring-submission-by-the-polling-thread", FUNCTIONAL,
	  submission_by_the_polling_thread },
	{ "uring-small-cqes-do", FUNCTIONAL, small_cqes_do },
	{ "uring-small-sqes-are-refused", FUNCTIONAL, small_sqes_are_refused },
	{ "uring-unknown-commands-are-refused", FUNCTIONAL, unknown_commands_are_refused },
	{ "uring-polled-rings-are-refused", FUNCTIONAL, polled_rings_are_refused },
	{ "uring-linked-submission-works", FUNCTIONAL, linked_submission_works },
	{ "uring-contended-submissions-are-complete-when-they-return", FUNCTIONAL,
	  contended_submissions_are_complete_when_they_return },
	{ "uring-large-submission-is-complete-when-it-returns", TIMED,
	  large_submission_is_complete_when_it_returns },
	{ "uring-job-ends-with-a-completion", TIMED, job_ends_with_a_completion },
	{ "uring-tag-in-use-is-refused-late-and-cleanly", TIMED,
	  tag_in_use_is_refused_late_and_cleanly },
	{ "uring-cancel-command-ends-a-waiting-job", TIMED, cancel_command_ends_a_waiting_job },
	{ "uring-ioctl-cancel-reaches-ring-jobs", TIMED, ioctl_cancel_reaches_ring_jobs },
	{ "uring-destroyed-context-completes-its-commands", TIMED,
	  destroyed_context_completes_its_commands },
	{ "uring-closing-the-ring-detaches-jobs", TIMED, closing_the_ring_detaches_jobs },
	{ 0 },
};
