// SPDX-License-Identifier: MIT
/* Commands of several tasks: one of them is stopped, or another task shares a buffer meanwhile. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "check.h"
#include "dma_buf.h"
#include "recorded.h"
#include "ring.h"

#define MANUAL		"cores=2 mode=timed profile=ideal manual_clock=1"
#define MS		1000000ull
#define READ_WRITE	(OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE)
#define ANY_RING	(IORING_SETUP_SQE128 | IORING_SETUP_CQE32)
#define OF_OTHERS	6u

struct stopped_task {
	struct client client;
	struct io_uring ring;
	struct replay replay;
	int resume[2]; /* a pipe */
	int submitted[2];
};

/* Submits a replay, and then sleeps in the kernel, where it runs no task work. */
static void *submit_and_stop(void *argument)
{
	struct stopped_task *task = argument;
	char byte = 0;

	replay_ring_submit(&task->ring, &task->client, &task->replay);
	if (vfork() == 0) {
		/* Its parent waits for its end. */
		if (write(task->submitted[1], &byte, 1) != 1 ||
		    read(task->resume[0], &byte, 1) != 1)
			_exit(1);
		_exit(0);
	}
	return NULL;
}

/* All tasks use one ring; the first replay that ends belongs to the stopped task. */
static void a_stopped_task_holds_up_no_command_of_others(void)
{
	static struct stopped_task task;
	struct replay replays[OF_OTHERS];
	uint32_t recording, i;
	pthread_t thread;
	struct job job;
	char byte = 0;

	task.client = client_open_at_zero();
	ring_open(&task.ring, 32, ANY_RING);
	check_equal(pipe(task.resume), 0);
	check_equal(pipe(task.submitted), 0);
	put_delay(&task.client, 0, MS / 10);
	job_init(&job, &task.client, 0, 0, 1);
	recording = recording_of(&task.client, &job, OF_OTHERS + 1);
	replay_init(&task.replay, &task.client, recording, OF_OTHERS);
	check_equal(pthread_create(&thread, NULL, submit_and_stop, &task), 0);
	check_equal(read(task.submitted[0], &byte, 1), 1);
	for (i = 0; i < OF_OTHERS; i++) {
		replay_init(&replays[i], &task.client, recording, i);
		replay_ring_submit(&task.ring, &task.client, &replays[i]);
	}
	check_equal(advance_clock(0, 100 * MS), 0);
	for (i = 0; i < OF_OTHERS; i++)
		check_equal(ring_reap(&task.ring).user_data, i);
	check_equal(ring_is_empty(&task.ring), 1);
	check_equal(write(task.resume[1], &byte, 1), 1);
	check_equal(ring_reap(&task.ring).user_data, OF_OTHERS);
	pthread_join(thread, NULL);
	io_uring_queue_exit(&task.ring);
	client_close(&task.client);
}

/* Commands behind the replay, which keep the call that submits it busy. */
#define BEHIND		4000u
#define ROUNDS		200u

struct submitter {
	struct client client;
	struct io_uring ring;
	struct replay replay;
	int zeroes; /* /dev/zero */
	volatile uint32_t is_waiting; /* 0: the driver has issued the replay */
};

static void *submit_with_much_behind(void *argument)
{
	struct submitter *submitter = argument;
	uint32_t i;

	replay_prepare(&submitter->ring, &submitter->client, &submitter->replay);
	io_uring_prep_read(io_uring_get_sqe(&submitter->ring), submitter->zeroes,
			   (void *)&submitter->is_waiting, sizeof(submitter->is_waiting), 0);
	for (i = 0; i < BEHIND; i++)
		io_uring_prep_nop(io_uring_get_sqe(&submitter->ring));
	check_equal(io_uring_submit(&submitter->ring), BEHIND + 2);
	return NULL;
}

/* Returns whether the driver kept the replay back when its buffer was exported. */
static bool export_while_one_is_kept(struct submitter *submitter, uint32_t recording, uint64_t tag)
{
	struct buffer buffer = buffer_create(submitter->client.fd, 4096, READ_WRITE);
	bool is_kept;
	pthread_t thread;
	uint32_t i;
	int dmabuf;

	replay_init(&submitter->replay, &submitter->client, recording, tag);
	submitter->replay.binding.address = buffer.address;
	submitter->replay.binding.length = buffer.size;
	submitter->is_waiting = 1;
	check_equal(pthread_create(&thread, NULL, submit_with_much_behind, submitter), 0);
	while (submitter->is_waiting)
		;
	is_kept = job_cancel(&submitter->client, tag) == -ENOENT;
	dmabuf = prime_export(submitter->client.fd, buffer.handle, DRM_RDWR | DRM_CLOEXEC);
	if (is_kept)
		check_equal(job_cancel(&submitter->client, tag), 0);
	pthread_join(thread, NULL);
	for (i = 0; i < BEHIND + 2; i++)
		ring_reap(&submitter->ring);
	close(dmabuf);
	buffer_destroy(submitter->client.fd, &buffer);
	return is_kept;
}

/* The driver publishes replays on a buffer before another process can see the exported buffer. */
static void export_of_a_buffer_publishes_the_replays_kept_back(void)
{
	static struct submitter submitter;
	uint32_t recording, kept = 0, i;
	struct job job;

	submitter.client = client_open_at_zero();
	submitter.zeroes = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	ring_open(&submitter.ring, BEHIND + 2, ANY_RING);
	put_delay(&submitter.client, 0, MS / 10);
	job_init(&job, &submitter.client, 0, 0, 1);
	recording = recording_of(&submitter.client, &job, 1);
	for (i = 0; i < ROUNDS && kept < 3; i++)
		kept += export_while_one_is_kept(&submitter, recording, i);
	check_equal(kept, 3);
	io_uring_queue_exit(&submitter.ring);
	close(submitter.zeroes);
	client_close(&submitter.client);
}

const struct test_case record_batch_task_cases[] = {
	{ "record-batch-stopped-task", MANUAL, a_stopped_task_holds_up_no_command_of_others },
	{ "record-batch-export", MANUAL, export_of_a_buffer_publishes_the_replays_kept_back },
	{ 0 },
};
