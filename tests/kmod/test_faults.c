// SPDX-License-Identifier: MIT
/*
 * Missing memory, and user memory that cannot be read: fault injection fails the first, second,
 * third ... attempt inside one system call until the call succeeds.  A call that fails has changed
 * nothing.  Needs a kernel with fault injection (make debug-kernel).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "dma_buf.h"
#include "fail_nth.h"
#include "load.h"
#include "ring.h"
#include "snapshot.h"

#define MANUAL		"cores=2 mode=timed profile=ideal manual_clock=1"
#define ATTEMPTS	500
#define TAG		5

/**
 * struct operation - a system call to be made to fail
 * @prepare: prepares it, without faults; may be NULL
 * @run: makes the call; returns 0 or -errno
 * @undo: undoes it, only after success
 */
struct operation {
	const char *name;
	void (*prepare)(struct client *client);
	int (*run)(struct client *client);
	void (*undo)(struct client *client);
};

static int opened;
static uint32_t made;
static uint64_t mapped;
static struct io_uring ring;
static struct job job;

static int run_open(struct client *client)
{
	(void)client;
	opened = open("/dev/accel/accel0", O_RDWR | O_CLOEXEC);
	return opened < 0 ? -errno : 0;
}

static void undo_open(struct client *client)
{
	(void)client;
	close(opened);
}

static int run_create(struct client *client)
{
	struct drm_overtake_bo_create args = { .size = 65536 };
	int ret = device_ioctl(client->fd, DRM_IOCTL_OVERTAKE_BO_CREATE, &args);

	made = args.handle;
	return ret;
}

static void undo_create(struct client *client)
{
	struct drm_gem_close args = { .handle = made };

	check_equal(device_ioctl(client->fd, DRM_IOCTL_GEM_CLOSE, &args), 0);
}

static void prepare_map(struct client *client)
{
	check_equal(run_create(client), 0);
}

static int run_map(struct client *client)
{
	struct drm_overtake_bo_map args = { .handle = made, .flags = OVERTAKE_MAP_READ };
	int ret = device_ioctl(client->fd, DRM_IOCTL_OVERTAKE_BO_MAP, &args);

	mapped = args.address;
	return ret;
}

static void undo_map(struct client *client)
{
	struct drm_overtake_bo_unmap args = { .address = mapped };

	check_equal(device_ioctl(client->fd, DRM_IOCTL_OVERTAKE_BO_UNMAP, &args), 0);
	undo_create(client);
}

static int run_context(struct client *client)
{
	return context_create(client->fd, 255, 2, &made);
}

static void undo_context(struct client *client)
{
	check_equal(context_destroy(client->fd, made), 0);
}

static void end_job(struct client *client)
{
	struct drm_overtake_device_info info;

	check_equal(job_cancel(client, TAG), 0);
	device_query(client->fd, &info);
	check_equal(advance_clock(0, info.device_time_ns + 1), 0);
}

static void prepare_submit(struct client *client)
{
	put_delay(client, 0, 1000);
	job_init(&job, client, TAG, 0, 1);
	job.submit.scratch_bytes = 65536;
	job.submit.result = client->data.address + RESULT_OFFSET;
}

static int run_submit(struct client *client)
{
	return job_submit(client, &job);
}

static void undo_submit(struct client *client)
{
	struct overtake_result result;

	end_job(client);
	check_equal(job_wait(client, TAG, 0, &result), 0);
	check_equal(result.status, -ECANCELED);
}

static struct sync_chain fences;

/* The job waits for a signalled fence, and gives its own to a syncobj and to a timeline. */
static void prepare_submit_fences(struct client *client)
{
	prepare_submit(client);
	sync_chain_init(&fences, &job);
	sync_chain_in(&fences, syncobj_create(client->fd), 0);
	sync_chain_out(&fences, syncobj_create(client->fd), 0);
	sync_chain_out(&fences, syncobj_create(client->fd), 3);
	syncobj_signal(client->fd, fences.in[0].handle);
}

static int run_submit_fences(struct client *client)
{
	int ret = job_submit(client, &job);

	if (ret)
		check(!syncobj_is_set(client->fd, fences.out[0].handle) &&
		      !syncobj_is_set(client->fd, fences.out[1].handle));
	return ret;
}

static void prepare_ring(struct client *client)
{
	prepare_submit(client);
	ring_open_default(&ring);
	ring_prepare(&ring, client->fd, OVERTAKE_URING_SUBMIT, &job.submit, sizeof(job.submit),
		     TAG);
}

/* Returns an error of the ring itself or the result of the command; 0 if it is in flight. */
static int run_ring(struct client *client)
{
	struct io_uring_cqe *cqe;
	int ret = io_uring_submit(&ring);

	(void)client;
	if (ret == 1)
		ret = io_uring_peek_cqe(&ring, &cqe) ? 0 : cqe->res;
	else if (!ret)
		ret = -EAGAIN;
	if (ret)
		io_uring_queue_exit(&ring);
	return ret;
}

static void undo_ring(struct client *client)
{
	end_job(client);
	check_equal(ring_reap(&ring).status, -ECANCELED);
	io_uring_queue_exit(&ring);
}

static const struct operation operations[] = {
	{ "open", NULL, run_open, undo_open },
	{ "BO_CREATE", NULL, run_create, undo_create },
	{ "BO_MAP", prepare_map, run_map, undo_map },
	{ "CONTEXT_CREATE", NULL, run_context, undo_context },
	{ "SUBMIT", prepare_submit, run_submit, undo_submit },
	{ "SUBMIT with fences", prepare_submit_fences, run_submit_fences, undo_submit },
	{ "SUBMIT through io_uring", prepare_ring, run_ring, undo_ring },
};

/* Returns true if no fault was left to inject. */
static bool attempt(struct client *client, const struct operation *operation, int fail_nth, int nth)
{
	struct snapshot before, after;
	bool left;
	int ret;

	take_snapshot(client, &before);
	if (operation->prepare)
		operation->prepare(client);
	fail_nth_set(fail_nth, nth);
	ret = operation->run(client);
	left = fail_nth_is_left(fail_nth);
	fail_nth_set(fail_nth, 0);
	check_message(!ret || !left, "%s fails with %s although no fault was injected",
		      operation->name, strerror(-ret));
	/* Without memory for an inode shmem returns -ENOSPC. */
	check_message(!ret || ret == -ENOMEM || ret == -EFAULT || ret == -EAGAIN || ret == -ENOSPC,
		      "%s, fault %d: %s", operation->name, nth, strerror(-ret));
	if (!ret) {
		operation->undo(client);
	} else if (ret == -EFAULT && nth > 1) {
		/* The call was carried out, but not its answer: the object goes with the file. */
		client_close(client);
		wait_until_forgotten();
		*client = client_open(0, 255);
	} else {
		if (operation->run == run_map)
			undo_create(client);
		take_snapshot(client, &after);
		compare_snapshots(&before, &after);
	}
	return left;
}

static void failing_calls_change_nothing(void)
{
	struct client client;
	size_t i;
	int fail_nth;

	fail_nth_need();
	client = client_open(0, 255);
	fail_nth = fail_nth_open();
	for (i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
		int nth = 1;

		while (!attempt(&client, &operations[i], fail_nth, nth))
			check_message(++nth < ATTEMPTS, "%s never succeeds", operations[i].name);
		check_message(nth > 1, "%s has nothing that could fail", operations[i].name);
		printf("# %s: %d faults survived\n", operations[i].name, nth - 1);
		fflush(stdout);
	}
	close(fail_nth);
	client_close(&client);
}

const struct test_case fault_cases[] = {
	{ "fault-failing-calls-change-nothing", MANUAL, failing_calls_change_nothing },
	{ 0 },
};
