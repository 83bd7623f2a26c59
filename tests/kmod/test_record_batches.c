// SPDX-License-Identifier: MIT
/*
 * Several commands in one system call: replays that the driver submits to the device together, and
 * other commands between them.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "dma_buf.h"
#include "recorded.h"
#include "ring.h"
#include "stalled_page.h"

#define FUNCTIONAL	"cores=2 mode=functional profile=ideal"
#define MANUAL		"cores=2 mode=timed profile=ideal manual_clock=1"
#define MS		1000000ull
#define NEVER		OVERTAKE_DEADLINE_NEVER
#define READ_WRITE	(OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE)
/* More than twice the replays that the driver keeps back. */
#define BATCH		40u
#define COMMAND		1000000u /* user_data of commands that are no jobs */
#define ANY_RING	(IORING_SETUP_SQE128 | IORING_SETUP_CQE32)
#define DEFERRED_RING	(ANY_RING | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN)

static void prepare_cancel(struct io_uring *ring, const struct client *client, uint64_t tag)
{
	struct drm_overtake_cancel cancel = { .tag = tag, .context_id = client->context };

	ring_prepare(ring, client->fd, OVERTAKE_URING_CANCEL, &cancel, sizeof(cancel), COMMAND);
}

static void prepare_job(struct io_uring *ring, const struct client *client, const struct job *job)
{
	ring_prepare(ring, client->fd, OVERTAKE_URING_SUBMIT, &job->submit, sizeof(job->submit),
		     job->submit.tag);
}

static void expect(struct io_uring *ring, uint64_t user_data, int status)
{
	struct completion completion = ring_reap(ring);

	check_equal(completion.user_data, user_data);
	check_equal(completion.status, status);
}

/* The replays are on core 1, where they run one after the other. */
static struct replay *replays_of(const struct client *client, uint32_t recording)
{
	static struct replay replays[BATCH];
	uint32_t i;

	for (i = 0; i < BATCH; i++) {
		replay_init(&replays[i], client, recording, i);
		replays[i].args.core = 1;
	}
	return replays;
}

static uint32_t record_delay(struct client *client, struct job *job)
{
	put_delay(client, 0, MS / 10);
	job_init(job, client, 0, 0, 1);
	return recording_of(client, job, BATCH);
}

/* A submission in the middle of replays keeps its place. */
static void run_in_order(unsigned int flags)
{
	struct client client = client_open_at_zero();
	struct replay *replays;
	struct io_uring ring;
	struct job job;
	uint32_t i;

	ring_open(&ring, 128, flags);
	replays = replays_of(&client, record_delay(&client, &job));
	job.submit.tag = BATCH + 1;
	job.submit.core = 1;
	for (i = 0; i < BATCH; i++) {
		replay_prepare(&ring, &client, &replays[i]);
		if (i == BATCH / 2)
			prepare_job(&ring, &client, &job);
	}
	check_equal(io_uring_submit(&ring), BATCH + 1);
	/* The driver knows all replays, and none has run. */
	for (i = 0; i < BATCH; i++)
		check_equal(replay_submit(&client, &replays[i]), -EBUSY);
	check_equal(ring_is_empty(&ring), 1);
	check_equal(advance_clock(0, 100 * MS), 0);
	for (i = 0; i < BATCH; i++) {
		expect(&ring, i, 0);
		if (i == BATCH / 2)
			expect(&ring, BATCH + 1, 0);
	}
	io_uring_queue_exit(&ring);
	client_close(&client);
}

static void replays_of_a_batch_run_in_order(void)
{
	run_in_order(DEFERRED_RING);
	run_in_order(ANY_RING);
}

/* A refused replay ends with its error when the call that submits it returns; others run. */
static void refused_one_is_alone(unsigned int flags)
{
	struct client client = client_open_at_zero();
	struct replay *replays;
	struct io_uring ring;
	struct job job;
	uint32_t i;

	ring_open(&ring, 128, flags);
	replays = replays_of(&client, record_delay(&client, &job));
	replays[7].args.tag = 6;	/* in flight */
	replays[9].args.record_id = 77; /* there is none */
	for (i = 0; i < BATCH; i++)
		replay_prepare(&ring, &client, &replays[i]);
	check_equal(io_uring_submit(&ring), BATCH);
	/* The errors come in the order in which the driver finds them. */
	io_uring_get_events(&ring);
	check_equal(io_uring_cq_ready(&ring), 2);
	expect(&ring, 9, -ENOENT);
	expect(&ring, 6, -EEXIST);
	/* The instance and the buffer of the refused replay are free. */
	replays[7].args.tag = 7;
	replay_prepare(&ring, &client, &replays[7]);
	check_equal(io_uring_submit(&ring), 1);
	check_equal(advance_clock(0, 100 * MS), 0);
	for (i = 0; i < BATCH; i++)
		if (i != 7 && i != 9)
			expect(&ring, i, 0);
	expect(&ring, 7, 0);
	io_uring_queue_exit(&ring);
	client_close(&client);
}

static void a_refused_replay_of_a_batch_is_alone(void)
{
	refused_one_is_alone(DEFERRED_RING);
	refused_one_is_alone(ANY_RING);
}

/* A replay with a fence for a syncobj is published by itself, and in its place. */
static void a_fence_in_a_batch_keeps_its_place(void)
{
	struct client client = client_open_at_zero();
	uint32_t after = syncobj_create(client.fd);
	struct sync_chain chain;
	struct replay *replays;
	struct io_uring ring;
	struct job job;
	uint32_t i;

	ring_open_default(&ring);
	replays = replays_of(&client, record_delay(&client, &job));
	sync_chain_init(&chain, &job);
	sync_chain_out(&chain, after, 0);
	replays[5].args.extensions = (uintptr_t)&chain.sync;
	for (i = 0; i < 10; i++)
		replay_prepare(&ring, &client, &replays[i]);
	check_equal(io_uring_submit(&ring), 10);
	check_equal(advance_clock(0, 100 * MS), 0);
	for (i = 0; i < 10; i++)
		expect(&ring, i, 0);
	syncobj_wait(client.fd, after, 0);
	io_uring_queue_exit(&ring);
	client_close(&client);
}

/* A cancel finds the replays before it, and not those behind it. */
static void cancel_in_a_batch_finds_what_is_before_it(void)
{
	struct client client = client_open_at_zero();
	struct replay *replays;
	struct io_uring ring;
	struct job job;
	uint32_t i;

	ring_open_default(&ring);
	replays = replays_of(&client, record_delay(&client, &job));
	for (i = 0; i < 6; i++) {
		if (i == 4) {
			prepare_cancel(&ring, &client, 3);
			prepare_cancel(&ring, &client, 5);
		}
		replay_prepare(&ring, &client, &replays[i]);
	}
	check_equal(io_uring_submit(&ring), 8);
	expect(&ring, COMMAND, 0);
	expect(&ring, COMMAND, -ENOENT);
	check_equal(advance_clock(0, 100 * MS), 0);
	expect(&ring, 3, -ECANCELED);
	for (i = 0; i < 6; i++)
		if (i != 3)
			expect(&ring, i, 0);
	io_uring_queue_exit(&ring);
	client_close(&client);
}

/* A HIGH replay is chosen first, though NORMAL replays of the same call came before it. */
static void high_in_a_batch_overtakes(void)
{
	const volatile struct overtake_result *results;
	struct replay *replays;
	struct client client;
	struct io_uring ring;
	struct job job;
	uint32_t i;

	restart_clock(0);
	client = client_open(0, 255);
	check_equal(context_destroy(client.fd, client.context), 0);
	check_equal(context_create(client.fd, 255, 1, &client.context), 0);
	ring_open_default(&ring);
	replays = replays_of(&client, record_delay(&client, &job));
	results = (void *)(client.data.data + RESULT_OFFSET);
	replays[5].args.priority = 255;
	for (i = 0; i < 10; i++) {
		replays[i].args.result = client.data.address + RESULT_OFFSET +
					 i * sizeof(*results);
		replay_prepare(&ring, &client, &replays[i]);
	}
	check_equal(io_uring_submit(&ring), 10);
	check_equal(advance_clock(0, 100 * MS), 0);
	for (i = 0; i < 10; i++)
		check_equal(ring_reap(&ring).status, 0);
	for (i = 1; i < 10; i++)
		check_equal(results[i].start_ns, (i < 5 ? i + 1 : i == 5 ? 0 : i) * MS / 10);
	check_equal(results[0].start_ns, MS / 10);
	io_uring_queue_exit(&ring);
	client_close(&client);
}

static void *submit_all(void *argument)
{
	return (void *)(intptr_t)io_uring_submit(argument);
}

/* The replays before it run to their end, though the call that submits them has not returned. */
static void a_page_that_does_not_come_holds_up_no_replay_before_it(void)
{
	struct client client = client_open(0, 254);
	struct stalled_page page;
	struct replay *replays;
	struct io_uring ring;
	pthread_t thread;
	void *submitted;
	struct job job;
	uint32_t i;

	ring_open(&ring, 128, ANY_RING);
	replays = replays_of(&client, record_delay(&client, &job));
	stalled_page_make(&page);
	for (i = 0; i < 5; i++) {
		replays[i].args.result = client.data.address + RESULT_OFFSET +
					 i * sizeof(struct overtake_result);
		if (i == 3)
			replays[i].args.bindings = (uintptr_t)page.data;
		replay_prepare(&ring, &client, &replays[i]);
	}
	check_equal(pthread_create(&thread, NULL, submit_all, &ring), 0);
	stalled_page_wait(&page);
	for (i = 0; i < 3; i++) {
		volatile struct overtake_result *result = (void *)(client.data.data + RESULT_OFFSET);

		while (!result[i].fcs_done)
			usleep(100);
	}
	stalled_page_give(&page, &replays[3].binding, sizeof(replays[3].binding));
	pthread_join(thread, &submitted);
	check_equal((intptr_t)submitted, 5);
	for (i = 0; i < 5; i++)
		check_equal(ring_reap(&ring).status, 0);
	io_uring_queue_exit(&ring);
	client_close(&client);
}

static struct client shared;

/* Commands that are completed behind the refused one: io_uring frees all of them together. */
#define BEHIND		4000u

/* Closes the shared file as soon as the ring has a completion. */
static void *close_when_refused(void *argument)
{
	struct io_uring *ring = argument;

	while (!io_uring_cq_ready(ring))
		;
	close(shared.fd);
	return NULL;
}

/* The file is closed while the call that submits the refused replay still has other commands. */
static void a_file_may_go_while_a_refused_replay_is_left_behind(void)
{
	struct io_uring ring;
	struct replay replay;
	pthread_t thread;
	struct job job;
	uint32_t i, k;

	for (i = 0; i < 20; i++) {
		shared = client_open(0, 254);
		put_delay(&shared, 0, 100);
		job_init(&job, &shared, 1, 0, 1);
		check_equal(job_submit(&shared, &job), 0); /* not collected: its tag stays in use */
		/* The job keeps the buffer shared, and would keep the client. */
		close(prime_export(shared.fd, shared.data.handle, DRM_RDWR | DRM_CLOEXEC));
		ring_open(&ring, BEHIND + 1, ANY_RING);
		replay_init(&replay, &shared, recording_of(&shared, &job, 1), 1);
		replay_prepare(&ring, &shared, &replay);
		for (k = 0; k < BEHIND; k++)
			io_uring_prep_nop(io_uring_get_sqe(&ring));
		check_equal(pthread_create(&thread, NULL, close_when_refused, &ring), 0);
		check_equal(io_uring_submit(&ring), BEHIND + 1);
		pthread_join(thread, NULL);
		expect(&ring, 1, -EEXIST);
		io_uring_queue_exit(&ring);
	}
}

#define ROUNDS		200u
#define THREADS		3u

/* A thread with a ring and a recording of its own; all threads use one file. */
static void *replay_batches(void *argument)
{
	uintptr_t number = (uintptr_t)argument;
	struct replay replay;
	struct io_uring ring;
	uint32_t recording, i, k;
	struct job job;

	ring_open(&ring, 64, ANY_RING);
	job_init(&job, &shared, 0, 0, 1);
	recording = recording_of(&shared, &job, BATCH);
	for (i = 0; i < ROUNDS; i++) {
		for (k = 0; k < BATCH; k++) {
			replay_init(&replay, &shared, recording,
				    (number << 32) + i * BATCH + k);
			replay.args.bindings = 0; /* the array would be gone */
			replay.args.binding_count = 0;
			replay_prepare(&ring, &shared, &replay);
		}
		check_equal(io_uring_submit(&ring), BATCH);
		for (k = 0; k < BATCH; k++)
			check_equal(ring_reap(&ring).status, 0);
	}
	io_uring_queue_exit(&ring);
	return NULL;
}

static void threads_with_one_file_batch_their_own(void)
{
	pthread_t threads[THREADS];
	uintptr_t i;

	shared = client_open(0, 254);
	put_delay(&shared, 0, 100);
	for (i = 0; i < THREADS; i++)
		check_equal(pthread_create(&threads[i], NULL, replay_batches, (void *)i), 0);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	client_close(&shared);
}

/* State of xorshift for random batches, the same in each run. */
static uint64_t state;

static uint32_t below(uint32_t limit)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)((state >> 16) % limit);
}

#define SEQUENCES	40u	/* KMOD_RECORD_BATCHES: more */
#define BATCHES		12u
#define RECORDINGS	3u

struct sequence {
	struct client client;
	struct io_uring ring;
	struct buffer export;
	int dmabuf;
	uint32_t recordings[RECORDINGS];
	uint32_t syncobj;
	uint32_t tag;
	uint32_t commands; /* commands that have to complete */
	struct replay replays[64];
	struct sync_chain chains[64];
	struct job jobs[64];
};

static void begin(struct sequence *s)
{
	uint32_t i;

	s->client = client_open(0, 255);
	ring_open_to_abandon(&s->ring);
	s->export = buffer_create(s->client.fd, 16 * 4096, READ_WRITE);
	s->dmabuf = -1;
	s->syncobj = syncobj_create(s->client.fd);
	s->tag = 1;
	s->commands = 0;
	for (i = 0; i < 4; i++)
		put_delay(&s->client, i, 1 + below(2000));
	for (i = 0; i < RECORDINGS; i++) {
		job_init(&s->jobs[0], &s->client, 0, 0, 1 + below(3));
		s->recordings[i] = recording_of(&s->client, &s->jobs[0], 1 + below(24));
	}
}

static void prepare_random(struct sequence *s, uint32_t i)
{
	struct replay *replay = &s->replays[i];
	struct job *job = &s->jobs[i];

	s->commands++;
	switch (below(12)) {
	case 0:
		prepare_cancel(&s->ring, &s->client, s->tag - below(8));
		return;
	case 1:
		job_init(job, &s->client, s->tag++, 0, 1);
		prepare_job(&s->ring, &s->client, job);
		return;
	}
	replay_init(replay, &s->client, s->recordings[below(RECORDINGS)], s->tag++);
	if (!below(12))
		replay->args.tag -= 1 + below(3); /* in flight, perhaps */
	if (!below(16))
		replay->args.record_id = 1000;
	if (!below(10))
		replay->args.priority = 255;
	if (!below(4)) {
		replay->binding.address = s->export.address;
		replay->binding.length = s->export.size;
	}
	if (!below(8)) {
		sync_chain_init(&s->chains[i], job);
		sync_chain_out(&s->chains[i], s->syncobj, 0);
		replay->args.extensions = (uintptr_t)&s->chains[i].sync;
	}
	replay_prepare(&s->ring, &s->client, replay);
}

static void reap(struct sequence *s, uint32_t count)
{
	for (; count; count--) {
		int status = ring_reap(&s->ring).status;

		check_message(!status || status == -ECANCELED || status == -EEXIST ||
			      status == -EBUSY || status == -ENOENT,
			      "a command of a batch ended with %d", status);
		s->commands--;
	}
}

static void submit_random(struct sequence *s)
{
	uint32_t count = 1 + below(50), i;

	if (s->dmabuf < 0 && !below(4))
		s->dmabuf = prime_export(s->client.fd, s->export.handle, DRM_RDWR | DRM_CLOEXEC);
	for (i = 0; i < count; i++)
		prepare_random(s, i);
	check_equal(io_uring_submit(&s->ring), count);
	if (!below(8)) {
		uint32_t other;

		check_equal(context_destroy(s->client.fd, s->client.context), 0);
		check_equal(context_create(s->client.fd, 255, 0, &other), 0);
		s->client.context = other; /* it has no recordings */
	}
	/* Each command completes once. */
	reap(s, below(2) ? s->commands : below(s->commands + 1));
	if (!s->commands)
		check_equal(ring_is_empty(&s->ring), 1);
}

static void end(struct sequence *s)
{
	bool ring_first = below(2);

	if (ring_first) /* with commands in flight, perhaps */
		io_uring_queue_exit(&s->ring);
	if (s->dmabuf >= 0)
		close(s->dmabuf);
	client_close(&s->client);
	if (!ring_first)
		io_uring_queue_exit(&s->ring);
}

static void random_batches_complete_each_command_once(void)
{
	const char *asked = getenv("KMOD_RECORD_BATCHES");
	uint32_t count = asked ? (uint32_t)strtoul(asked, NULL, 10) : SEQUENCES;
	static struct sequence s;
	uint32_t i, k;

	for (i = 0; i < count; i++) {
		state = i + 1;
		begin(&s);
		for (k = 0; k < BATCHES; k++)
			submit_random(&s);
		end(&s);
	}
}

const struct test_case record_batch_cases[] = {
	{ "record-batch-order", MANUAL, replays_of_a_batch_run_in_order },
	{ "record-batch-refused-one", MANUAL, a_refused_replay_of_a_batch_is_alone },
	{ "record-batch-cancel", MANUAL, cancel_in_a_batch_finds_what_is_before_it },
	{ "record-batch-fence", MANUAL, a_fence_in_a_batch_keeps_its_place },
	{ "record-batch-high", MANUAL, high_in_a_batch_overtakes },
	{ "record-batch-page-that-stalls", FUNCTIONAL,
	  a_page_that_does_not_come_holds_up_no_replay_before_it },
	{ "record-batch-file-goes", FUNCTIONAL,
	  a_file_may_go_while_a_refused_replay_is_left_behind },
	{ "record-batch-threads", FUNCTIONAL, threads_with_one_file_batch_their_own },
	{ "record-batch-random", FUNCTIONAL, random_batches_complete_each_command_once },
	{ 0 },
};
