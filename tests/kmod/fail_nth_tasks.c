// SPDX-License-Identifier: MIT
/* Tasks of service mode, by ioctl and io_uring. */
#include "fail_nth_operations.h"

#include <string.h>

#include "check.h"
#include "ring.h"

#define TAG		5
#define ON_CPU		(1ul << 16)	/* every second segment, from the first */
#define WITH_SCRATCH	(1ul << 17)
#define COUNT(variant)	((uint32_t)((variant) & 0xffff))

/* The queue of the subject: there is only one at a time. */
static uint32_t queue;
static struct overtake_task_segment segments[OVERTAKE_MAX_SEGMENTS];
static struct drm_overtake_task_submit task;
static struct overtake_task_event events[4];
static struct overtake_result results[4 * OVERTAKE_MAX_SEGMENTS];

static int run_create_queue(struct subject *subject)
{
	struct drm_overtake_context_create args = { .max_priority = 254, .flags = 4 };
	int ret = device_ioctl(subject->client.fd, DRM_IOCTL_OVERTAKE_CONTEXT_CREATE, &args);

	queue = args.context_id;
	return ret;
}

static void prepare_submit(struct subject *subject)
{
	uint32_t i, count = COUNT(subject->variant);

	check_equal(run_create_queue(subject), 0);
	put_delay(&subject->client, 0, 1000);
	job_init(&subject->job, &subject->client, TAG, 0, 1);
	memset(segments, 0, sizeof(segments));
	for (i = 0; i < count; i++) {
		segments[i].expected_ns = 1000;
		if (subject->variant & ON_CPU && i % 2 == 0)
			continue;
		segments[i].fcs = subject->job.submit.fcs;
		segments[i].bindings = subject->job.submit.bindings;
		segments[i].fc_count = subject->job.submit.fc_count;
		segments[i].binding_count = subject->job.submit.binding_count;
		if (subject->variant & WITH_SCRATCH)
			segments[i].scratch_bytes = 1 << 16;
	}
	memset(&task, 0, sizeof(task));
	task.segments = (uintptr_t)segments;
	task.tag = TAG;
	task.deadline_ns = ~0ull;
	task.context_id = queue;
	task.segment_count = count;
	task.priority = 10;
}

static int run_submit(struct subject *subject)
{
	return device_ioctl(subject->client.fd, DRM_IOCTL_OVERTAKE_TASK_SUBMIT, &task);
}

static void submit(struct subject *subject)
{
	prepare_submit(subject);
	check_equal(run_submit(subject), 0);
}

static int run_events(struct subject *subject)
{
	struct drm_overtake_task_events args = {
		.events = (uintptr_t)events,
		.results = (uintptr_t)results,
		.deadline_ns = OVERTAKE_DEADLINE_NEVER,
		.context_id = queue,
		.event_count = sizeof(events) / sizeof(events[0]),
		.result_count = sizeof(results) / sizeof(results[0]),
	};

	return device_ioctl(subject->client.fd, DRM_IOCTL_OVERTAKE_TASK_EVENTS, &args);
}

/* Waits until the process is notified that it has to run its first segment. */
static void be_told(struct subject *subject)
{
	submit(subject);
	check_equal(run_events(subject), 0);
	check_equal(events[0].type, OVERTAKE_TASK_RUN_CPU);
}

static const struct drm_overtake_task_cpu_done *report(void)
{
	static struct drm_overtake_task_cpu_done done;

	done = (struct drm_overtake_task_cpu_done){ .tag = TAG, .context_id = queue };
	return &done;
}

static int run_cpu_done(struct subject *subject)
{
	return device_ioctl(subject->client.fd, DRM_IOCTL_OVERTAKE_TASK_CPU_DONE,
			    (void *)report());
}

static const struct drm_overtake_task_cancel *cancellation(void)
{
	static struct drm_overtake_task_cancel cancel;

	cancel = (struct drm_overtake_task_cancel){ .tag = TAG, .context_id = queue };
	return &cancel;
}

static int run_cancel(struct subject *subject)
{
	return device_ioctl(subject->client.fd, DRM_IOCTL_OVERTAKE_TASK_CANCEL,
			    (void *)cancellation());
}

static int run_destroy_queue(struct subject *subject)
{
	return context_destroy(subject->client.fd, queue);
}

static void submit_many(struct subject *subject)
{
	uint64_t i;

	submit(subject);
	for (i = 1; i < 20; i++) {
		task.tag = TAG + i;
		check_equal(run_submit(subject), 0);
	}
}

static void prepare_ring(struct subject *subject, uint32_t operation, const void *payload,
			 size_t size)
{
	ring_open_to_abandon(&subject->ring);
	subject->has_ring = true;
	ring_prepare(&subject->ring, subject->client.fd, operation, payload, size, TAG);
}

static void prepare_ring_submit(struct subject *subject)
{
	prepare_submit(subject);
	prepare_ring(subject, OVERTAKE_URING_TASK_SUBMIT, &task, sizeof(task));
}

static void prepare_ring_events(struct subject *subject)
{
	static struct drm_overtake_task_events args;

	args = (struct drm_overtake_task_events){
		.events = (uintptr_t)events,
		.results = (uintptr_t)results,
		.event_count = sizeof(events) / sizeof(events[0]),
		.result_count = sizeof(results) / sizeof(results[0]),
	};
	submit(subject);
	args.context_id = queue;
	prepare_ring(subject, OVERTAKE_URING_TASK_EVENTS, &args, sizeof(args));
}

/* The task may or may not have begun by now. */
static int run_ring_events(struct subject *subject)
{
	int ret = subject_run_ring(subject);

	return ret > 0 ? 0 : ret;
}

static void prepare_ring_cpu_done(struct subject *subject)
{
	be_told(subject);
	prepare_ring(subject, OVERTAKE_URING_TASK_CPU_DONE, report(),
		     sizeof(struct drm_overtake_task_cpu_done));
}

static void prepare_ring_cancel(struct subject *subject)
{
	submit(subject);
	prepare_ring(subject, OVERTAKE_URING_TASK_CANCEL, cancellation(),
		     sizeof(struct drm_overtake_task_cancel));
}

const struct operation task_operations[] = {
	{ "CONTEXT_CREATE with workers", NULL, run_create_queue, 0 },
	{ "TASK_SUBMIT", prepare_submit, run_submit, 1 },
	{ "TASK_SUBMIT of one on the CPU", prepare_submit, run_submit, 1 | ON_CPU },
	{ "TASK_SUBMIT of 3 with scratch", prepare_submit, run_submit, 3 | WITH_SCRATCH },
	{ "TASK_SUBMIT of 40, half of them on the CPU", prepare_submit, run_submit, 40 | ON_CPU },
	{ "TASK_SUBMIT of 255", prepare_submit, run_submit, 255 },
	{ "TASK_EVENTS: run", submit, run_events, 2 | ON_CPU },
	{ "TASK_EVENTS: ended", submit, run_events, 2 },
	{ "TASK_CPU_DONE", be_told, run_cpu_done, 2 | ON_CPU },
	{ "TASK_CANCEL", submit, run_cancel, 2 | ON_CPU },
	{ "CONTEXT_DESTROY with tasks", submit_many, run_destroy_queue, 3 | ON_CPU },
	{ "close with tasks", submit_many, subject_run_close, 3 },
	{ "io_uring TASK_SUBMIT", prepare_ring_submit, subject_run_ring, 3 | WITH_SCRATCH },
	{ "io_uring TASK_EVENTS", prepare_ring_events, run_ring_events, 2 | ON_CPU },
	{ "io_uring TASK_CPU_DONE", prepare_ring_cpu_done, subject_run_ring, 2 | ON_CPU },
	{ "io_uring TASK_CANCEL", prepare_ring_cancel, subject_run_ring, 2 | ON_CPU },
	{ 0 },
};
