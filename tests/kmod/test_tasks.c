// SPDX-License-Identifier: MIT
/*
 * Tasks of service mode, call by call.  Suites of the library test the scheduler
 * (tests/libruntime/test_service*.cpp, tests/dnn).
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <string.h>

#include "check.h"
#include "load.h"
#include "ring.h"

#define FUNCTIONAL	"cores=2 mode=functional profile=ideal"
#define TAG		77
#define WORKERS		2
#define EVENT_ROOM	4
#define NEVER		OVERTAKE_DEADLINE_NEVER

/* The tasks of a process, and their events. */
struct tasks {
	struct client client;
	uint32_t queue;
	struct job job;
	struct overtake_task_segment segments[3];
	struct overtake_task_event events[EVENT_ROOM];
	struct overtake_result results[OVERTAKE_MAX_SEGMENTS];
};

/* Data of the only case that runs: too large for a stack. */
static struct tasks tasks;

static void tasks_open(void)
{
	struct drm_overtake_context_create create = { .max_priority = 254, .flags = WORKERS };

	memset(&tasks, 0, sizeof(tasks));
	tasks.client = client_open(0, 254);
	check_equal(device_ioctl(tasks.client.fd, DRM_IOCTL_OVERTAKE_CONTEXT_CREATE, &create), 0);
	tasks.queue = create.context_id;
	put_delay(&tasks.client, 0, 1000);
	job_init(&tasks.job, &tasks.client, 0, 0, 1);
}

static void tasks_close(void)
{
	client_close(&tasks.client);
}

static void set_device_segment(uint32_t index)
{
	tasks.segments[index] = (struct overtake_task_segment){
		.fcs = tasks.job.submit.fcs,
		.bindings = tasks.job.submit.bindings,
		.fc_count = tasks.job.submit.fc_count,
		.binding_count = tasks.job.submit.binding_count,
	};
}

static void set_cpu_segment(uint32_t index)
{
	tasks.segments[index] = (struct overtake_task_segment){
		.cpu_key = index,
		.expected_ns = 1000,
	};
}

static struct drm_overtake_task_submit submission(uint64_t tag, uint32_t segment_count)
{
	return (struct drm_overtake_task_submit){
		.segments = (uintptr_t)tasks.segments,
		.tag = tag,
		.deadline_ns = ~0ull,
		.context_id = tasks.queue,
		.segment_count = segment_count,
		.priority = 10,
	};
}

static int try_submit(struct drm_overtake_task_submit args)
{
	return device_ioctl(tasks.client.fd, DRM_IOCTL_OVERTAKE_TASK_SUBMIT, &args);
}

static struct drm_overtake_task_events collection(int64_t deadline_ns)
{
	return (struct drm_overtake_task_events){
		.events = (uintptr_t)tasks.events,
		.results = (uintptr_t)tasks.results,
		.deadline_ns = deadline_ns,
		.context_id = tasks.queue,
		.event_count = EVENT_ROOM,
		.result_count = OVERTAKE_MAX_SEGMENTS,
	};
}

static int try_events(struct drm_overtake_task_events args)
{
	return device_ioctl(tasks.client.fd, DRM_IOCTL_OVERTAKE_TASK_EVENTS, &args);
}

/* Waits for events; returns their number. */
static uint32_t events(void)
{
	struct drm_overtake_task_events args = collection(NEVER);

	check_equal(device_ioctl(tasks.client.fd, DRM_IOCTL_OVERTAKE_TASK_EVENTS, &args), 0);
	return args.event_count;
}

static int try_cpu_done(struct drm_overtake_task_cpu_done args)
{
	return device_ioctl(tasks.client.fd, DRM_IOCTL_OVERTAKE_TASK_CPU_DONE, &args);
}

static int try_cancel(struct drm_overtake_task_cancel args)
{
	return device_ioctl(tasks.client.fd, DRM_IOCTL_OVERTAKE_TASK_CANCEL, &args);
}

static struct drm_overtake_task_cpu_done report(uint32_t segment)
{
	return (struct drm_overtake_task_cpu_done){
		.tag = TAG, .context_id = tasks.queue, .segment = segment
	};
}

static void check_runs(const struct overtake_task_event *event, uint32_t segment)
{
	check_equal(event->type, OVERTAKE_TASK_RUN_CPU);
	check_equal(event->tag, TAG);
	check_equal(event->segment, segment);
	check(event->start_ns);
	check_equal(event->result_count, 0);
}

/* Checks that segments on the device have run one FC each, and those on the CPU have times. */
static void check_ended(const struct overtake_task_event *event, int32_t status)
{
	check_equal(event->type, OVERTAKE_TASK_ENDED);
	check_equal(event->tag, TAG);
	check_equal(event->status, status);
	check_equal(event->result_count, 3);
	check(event->arrived_ns && event->arrived_ns <= event->dispatched_ns);
	check(event->dispatched_ns < event->ended_ns);
}

static void three_segments(void)
{
	set_cpu_segment(0);
	set_device_segment(1);
	set_cpu_segment(2);
}

static void segments_run_in_order_by_ioctl(void)
{
	tasks_open();
	three_segments();
	check_equal(try_submit(submission(TAG, 3)), 0);
	check_equal(events(), 1);
	check_runs(&tasks.events[0], 0);
	check_equal(try_events(collection(0)), -ETIMEDOUT);
	check_equal(try_cpu_done(report(0)), 0);
	check_equal(events(), 1);
	check_runs(&tasks.events[0], 2);
	check_equal(try_cpu_done(report(2)), 0);
	check_equal(events(), 1);
	check_ended(&tasks.events[0], 0);
	check_equal(tasks.results[1].fcs_done, 1);
	check_equal(tasks.results[0].core, 0);
	check(tasks.results[1].core);
	check(tasks.results[0].end_ns <= tasks.results[1].start_ns);
	check(tasks.results[1].end_ns <= tasks.results[2].start_ns);
	check_equal(try_cpu_done(report(2)), -ENOENT); /* collected */
	tasks_close();
}

/* Runs one command with @bytes of @payload; returns the CQE's res. */
static int through(struct io_uring *ring, uint32_t op, const void *payload, size_t bytes)
{
	ring_prepare(ring, tasks.client.fd, op, payload, bytes, TAG);
	check_equal(io_uring_submit(ring), 1);
	return ring_reap(ring).status;
}

/* Waits until there are events; returns their number. */
static int ring_events(struct io_uring *ring)
{
	struct drm_overtake_task_events args = collection(0);
	struct pollfd file = { .fd = tasks.client.fd, .events = POLLIN };

	check_equal(poll(&file, 1, -1), 1);
	check_equal(file.revents & (POLLIN | POLLERR), POLLIN);
	return through(ring, OVERTAKE_URING_TASK_EVENTS, &args, sizeof(args));
}

static int ring_cpu_done(struct io_uring *ring, uint32_t segment)
{
	struct drm_overtake_task_cpu_done args = report(segment);

	return through(ring, OVERTAKE_URING_TASK_CPU_DONE, &args, sizeof(args));
}

static void segments_run_in_order_by_io_uring(void)
{
	struct drm_overtake_task_events nothing;
	struct drm_overtake_task_submit submit;
	struct io_uring ring;

	tasks_open();
	ring_open_default(&ring);
	three_segments();
	nothing = collection(0);
	check_equal(through(&ring, OVERTAKE_URING_TASK_EVENTS, &nothing, sizeof(nothing)), 0);
	submit = submission(TAG, 3);
	check_equal(through(&ring, OVERTAKE_URING_TASK_SUBMIT, &submit, sizeof(submit)), 0);
	check_equal(ring_events(&ring), 1);
	check_runs(&tasks.events[0], 0);
	check_equal(ring_cpu_done(&ring, 0), 0);
	check_equal(ring_events(&ring), 1);
	check_runs(&tasks.events[0], 2);
	check_equal(ring_cpu_done(&ring, 2), 0);
	check_equal(ring_events(&ring), 1);
	check_ended(&tasks.events[0], 0);
	check_equal(tasks.results[1].fcs_done, 1);
	io_uring_queue_exit(&ring);
	tasks_close();
}

static void ring_commands_are_refused_as_ioctls_are(void)
{
	struct {
		struct drm_overtake_task_cancel cancel;
		uint64_t rest;
	} cancel = { .cancel = { .tag = TAG }, .rest = 1 };
	struct {
		struct drm_overtake_task_cpu_done done;
		uint64_t rest;
	} done = { .rest = 1 };
	struct {
		struct drm_overtake_task_events events;
		uint64_t rest;
	} wanted = { .rest = 1 };
	struct io_uring ring;

	tasks_open();
	ring_open_default(&ring);
	cancel.cancel.context_id = tasks.queue;
	done.done = report(0);
	wanted.events = collection(0);
	check_equal(through(&ring, OVERTAKE_URING_TASK_CANCEL, &cancel, sizeof(cancel)), -EINVAL);
	check_equal(through(&ring, OVERTAKE_URING_TASK_CPU_DONE, &done, sizeof(done)), -EINVAL);
	check_equal(through(&ring, OVERTAKE_URING_TASK_EVENTS, &wanted, sizeof(wanted)), -EINVAL);
	wanted.events.deadline_ns = NEVER; /* the call returns at once */
	check_equal(through(&ring, OVERTAKE_URING_TASK_EVENTS, &wanted.events,
			    sizeof(wanted.events)), -EINVAL);
	check_equal(through(&ring, OVERTAKE_URING_TASK_CANCEL, &cancel, sizeof(cancel.cancel)),
		    -ENOENT);
	check_equal(ring_cpu_done(&ring, 0), -ENOENT);
	io_uring_queue_exit(&ring);
	tasks_close();
}

/* Checks that TASK_SUBMIT of a task with one wrong field is refused. */
#define REFUSED(error, field, value)						\
	do {									\
		struct drm_overtake_task_submit args = submission(TAG, 3);	\
										\
		args.field = value;						\
		check_message(try_submit(args) == -(error), "%s = %s", #field, #value); \
	} while (0)

static void tasks_that_are_malformed_are_refused(void)
{
	struct overtake_extension_model model = { .model = 1 };

	tasks_open();
	three_segments();
	REFUSED(EFAULT, extensions, 8);
	REFUSED(EINVAL, extensions, (uintptr_t)&model);
	model.base.type = OVERTAKE_EXTENSION_PLACEMENT;
	REFUSED(EINVAL, extensions, (uintptr_t)&model);
	model.base.type = OVERTAKE_EXTENSION_MODEL;
	model.base.pad = 1;
	REFUSED(EINVAL, extensions, (uintptr_t)&model);
	model.base.pad = 0;
	model.base.next = (uintptr_t)&model;
	REFUSED(EINVAL, extensions, (uintptr_t)&model);
	REFUSED(EINVAL, flags, 1);
	REFUSED(EINVAL, reserved[0], 1);
	REFUSED(EINVAL, reserved[2], 1);
	REFUSED(EINVAL, segment_count, 0);
	REFUSED(E2BIG, segment_count, OVERTAKE_MAX_SEGMENTS + 1);
	REFUSED(EINVAL, core, 3);
	REFUSED(EINVAL, priority, 256);
	REFUSED(EPERM, priority, 255);
	REFUSED(ENOENT, context_id, tasks.queue + 1);
	REFUSED(EINVAL, context_id, tasks.client.context); /* it has no workers */
	REFUSED(EFAULT, segments, 8);
	check_equal(try_events(collection(0)), -ETIMEDOUT);
	check_equal(try_submit(submission(TAG, 3)), 0);
	check_equal(try_submit(submission(TAG, 3)), -EEXIST);
	tasks_close();
}

/* Does the same with one field of segment @index. */
#define SEGMENT_REFUSED(error, index, field, value)				\
	do {									\
		three_segments();						\
		tasks.segments[index].field = value;				\
		check_message(try_submit(submission(TAG, 3)) == -(error),	\
			      "segment %u: %s = %s", index, #field, #value);	\
	} while (0)

static void segments_that_are_malformed_are_refused(void)
{
	tasks_open();
	SEGMENT_REFUSED(EINVAL, 0, pad, 1);
	SEGMENT_REFUSED(EINVAL, 1, pad, 1);
	SEGMENT_REFUSED(EINVAL, 0, fcs, tasks.job.submit.fcs);
	SEGMENT_REFUSED(EINVAL, 0, bindings, tasks.job.submit.bindings);
	SEGMENT_REFUSED(EINVAL, 0, binding_count, 1);
	SEGMENT_REFUSED(EINVAL, 2, scratch_bytes, 4096);
	SEGMENT_REFUSED(EINVAL, 1, binding_count, 0);
	SEGMENT_REFUSED(E2BIG, 1, binding_count, OVERTAKE_MAX_BINDINGS + 1);
	SEGMENT_REFUSED(E2BIG, 1, fc_count, OVERTAKE_MAX_FCS + 1);
	SEGMENT_REFUSED(EFAULT, 1, fcs, 8);
	SEGMENT_REFUSED(EFAULT, 1, bindings, 8);
	three_segments();
	check_equal(try_submit(submission(TAG, 3)), 0);
	tasks_close();
}

static void reports_of_what_is_not_to_be_run_are_refused(void)
{
	struct drm_overtake_task_cpu_done done;

	tasks_open();
	three_segments();
	check_equal(try_cpu_done(report(0)), -ENOENT);
	check_equal(try_submit(submission(TAG, 3)), 0);
	check_equal(try_cpu_done(report(0)), -EINVAL); /* not reported to the process yet */
	check_equal(events(), 1);
	check_equal(try_cpu_done(report(1)), -EINVAL);
	check_equal(try_cpu_done(report(2)), -EINVAL);
	check_equal(try_cpu_done(report(99)), -EINVAL);
	done = report(0);
	done.pad = 1;
	check_equal(try_cpu_done(done), -EINVAL);
	done = report(0);
	done.status = 5; /* no errno */
	check_equal(try_cpu_done(done), -EINVAL);
	done.status = -EIO;
	check_equal(try_cpu_done(done), 0);
	check_equal(try_cpu_done(done), -EINVAL); /* twice */
	check_equal(events(), 1);
	check_ended(&tasks.events[0], -EIO);
	tasks_close();
}

static void cancelled_tasks_end(void)
{
	struct drm_overtake_task_cancel cancel = { .tag = TAG };

	tasks_open();
	three_segments();
	cancel.context_id = tasks.queue;
	check_equal(try_submit(submission(TAG, 3)), 0);
	check_equal(events(), 1);
	cancel.pad = 1;
	check_equal(try_cancel(cancel), -EINVAL);
	cancel.pad = 0;
	check_equal(try_cancel(cancel), 0);
	check_equal(try_cpu_done(report(0)), 0);
	check_equal(events(), 1);
	check_ended(&tasks.events[0], -ECANCELED);
	check_equal(tasks.results[1].fcs_done, 0);
	tasks_close();
}

static void state_shows_tasks(void)
{
	uint32_t i;

	tasks_open();
	check_state_says("  tasks: 0, of them 0 waiting; ended 0, waited 0 ns, "
			 "CPU segments overdue 0, workers busy 0 of 2\n");
	three_segments();
	for (i = 0; i < 3; i++)
		check_equal(try_submit(submission(TAG + i, 3)), 0);
	check_equal(advance_clock(0, 1), 0);
	check_state_says("  tasks: 3, of them 0 waiting; ended 0, waited 0 ns, "
			 "CPU segments overdue 0, workers busy 2 of 2\n"
			 "  task 79: priority 10, segment 0 of 3, arrived at ");
	check_state_says(", waiting for a worker\n  task 78: priority 10, segment 0 of 3, arrived at ");
	check_state_says(", CPU segment\n");
	set_device_segment(0);
	for (i = 3; i < 40; i++)
		check_equal(try_submit(submission(TAG + i, 1)), 0);
	check_equal(advance_clock(0, 2), 0);
	check_state_says("  tasks: 40, of them 36 waiting; ");
	check_state_says(", on the device, holds a slot of core 1\n");
	check_state_says(", waiting to be dispatched\n  ...\n");
	check_equal(events(), 2);
	check_equal(tasks.events[0].tag, TAG);
	check_equal(try_cpu_done(report(0)), 0);
	check_equal(advance_clock(0, 3), 0);
	check_state_says("  task 77: priority 10, segment 1 of 3, arrived at 0, "
			 "ready, waiting for a slot\n");
	tasks_close();
}

static void collections_that_are_malformed_are_refused(void)
{
	struct drm_overtake_task_events args;

	tasks_open();
	args = collection(-1);
	check_equal(try_events(args), -EINVAL);
	args = collection(0);
	args.event_count = 0;
	check_equal(try_events(args), -EINVAL);
	args = collection(0);
	args.result_count = OVERTAKE_MAX_SEGMENTS - 1;
	check_equal(try_events(args), -EINVAL);
	args = collection(0);
	args.flags = 2;
	check_equal(try_events(args), -EINVAL);
	args.flags = OVERTAKE_TASK_EVENTS_WAKE; /* with room for events beside it */
	check_equal(try_events(args), -EINVAL);
	args = collection(0);
	args.context_id = tasks.client.context;
	check_equal(try_events(args), -EINVAL);
	args.context_id = tasks.queue + 1;
	check_equal(try_events(args), -ENOENT);
	args = collection(0);
	args.events = 8;
	set_cpu_segment(0);
	check_equal(try_submit(submission(TAG, 1)), 0);
	args.deadline_ns = NEVER;
	check_equal(try_events(args), -EFAULT);
	/* The segment was reported nevertheless. */
	check_equal(try_cpu_done(report(0)), 0);
	tasks_close();
}

/* The events of a queue go with it, so that poll() does not report the file as readable. */
static void a_queue_that_goes_takes_its_events_along(void)
{
	struct pollfd file;

	tasks_open();
	set_cpu_segment(0);
	check_equal(try_submit(submission(TAG, 1)), 0);
	file = (struct pollfd){ .fd = tasks.client.fd, .events = POLLIN };
	check_equal(poll(&file, 1, -1), 1);
	check_equal(context_destroy(tasks.client.fd, tasks.queue), 0);
	check_equal(poll(&file, 1, 0), 0);
	tasks_close();
}

static void tasks_are_charged_until_their_ends_are_collected(void)
{
	uint64_t before, with_task;
	uint32_t i;

	tasks_open();
	set_cpu_segment(0);
	before = limit_used(tasks.client.fd, OVERTAKE_LIMIT_CLIENT_BYTES);
	for (i = 0; i < 100; i++)
		check_equal(try_submit(submission(TAG + 1 + i, 1)), 0);
	with_task = limit_used(tasks.client.fd, OVERTAKE_LIMIT_CLIENT_BYTES);
	check(with_task >= before + 100 * sizeof(struct overtake_result));
	check_equal(context_destroy(tasks.client.fd, tasks.queue), 0);
	/* A work item frees the tasks. */
	while (limit_used(tasks.client.fd, OVERTAKE_LIMIT_CLIENT_BYTES) > before)
		sched_yield();
	check_equal(limit_used(tasks.client.fd, OVERTAKE_LIMIT_CLIENT_BYTES), before);
	tasks_close();
}

/* A task has one job at a time, however many segments on the device. */
static void a_task_takes_the_commands_of_one_job(void)
{
	uint64_t before;

	tasks_open();
	set_cpu_segment(0);
	set_device_segment(1);
	set_device_segment(2);
	before = limit_used(tasks.client.fd, OVERTAKE_LIMIT_COMMANDS);
	check_equal(try_submit(submission(TAG, 3)), 0);
	check_equal(limit_used(tasks.client.fd, OVERTAKE_LIMIT_CLIENT_JOBS), 1);
	check_equal(limit_used(tasks.client.fd, OVERTAKE_LIMIT_COMMANDS), before + 2);
	check_equal(events(), 1);
	check_equal(try_cpu_done(report(0)), 0);
	check_equal(events(), 1);
	check_ended(&tasks.events[0], 0);
	check_equal(tasks.results[2].fcs_done, 1);
	check_equal(limit_used(tasks.client.fd, OVERTAKE_LIMIT_CLIENT_JOBS), 0);
	check_equal(limit_used(tasks.client.fd, OVERTAKE_LIMIT_COMMANDS), before);
	tasks_close();
}

/* A queue whose jobs fault is banned: waiting tasks end, and no task is admitted after them. */
static void a_banned_queue_takes_no_tasks(void)
{
	struct overtake_insn bad = { .opcode = 999 };

	tasks_open();
	put_insn(&tasks.client, 0, &bad);
	set_cpu_segment(0);
	check_equal(try_submit(submission(TAG + 1, 1)), 0); /* and is not reported */
	check_equal(events(), 1);
	set_device_segment(0);
	check_equal(try_submit(submission(TAG, 1)), 0);
	check_equal(events(), 1);
	check_equal(tasks.events[0].status, -ENOEXEC);
	check_equal(try_submit(submission(TAG, 1)), 0);
	check_equal(events(), 1);
	check_equal(tasks.events[0].tag, TAG);
	check_equal(tasks.events[0].status, -ENOEXEC);
	check_equal(try_submit(submission(TAG, 1)), -ESHUTDOWN);
	check_equal(try_cpu_done((struct drm_overtake_task_cpu_done){
			.tag = TAG + 1, .context_id = tasks.queue }), 0);
	check_equal(events(), 1);
	check_equal(tasks.events[0].tag, TAG + 1);
	check_equal(tasks.events[0].status, -ECANCELED);
	tasks_close();
}

const struct test_case task_cases[] = {
	{ "tasks-segments-run-in-order-by-ioctl", FUNCTIONAL, segments_run_in_order_by_ioctl },
	{ "tasks-segments-run-in-order-by-io-uring", FUNCTIONAL,
	  segments_run_in_order_by_io_uring },
	{ "tasks-ring-commands-are-refused-as-ioctls-are", FUNCTIONAL,
	  ring_commands_are_refused_as_ioctls_are },
	{ "tasks-that-are-malformed-are-refused", FUNCTIONAL,
	  tasks_that_are_malformed_are_refused },
	{ "tasks-segments-that-are-malformed-are-refused", FUNCTIONAL,
	  segments_that_are_malformed_are_refused },
	{ "tasks-reports-of-what-is-not-to-be-run-are-refused", FUNCTIONAL,
	  reports_of_what_is_not_to_be_run_are_refused },
	{ "tasks-cancelled-tasks-end", FUNCTIONAL, cancelled_tasks_end },
	{ "tasks-state-shows-them", "cores=1 mode=timed profile=ideal manual_clock=1",
	  state_shows_tasks },
	{ "tasks-collections-that-are-malformed-are-refused", FUNCTIONAL,
	  collections_that_are_malformed_are_refused },
	{ "tasks-a-queue-that-goes-takes-its-events-along", FUNCTIONAL,
	  a_queue_that_goes_takes_its_events_along },
	{ "tasks-are-charged-until-their-ends-are-collected", FUNCTIONAL,
	  tasks_are_charged_until_their_ends_are_collected },
	{ "tasks-a-task-takes-the-commands-of-one-job", FUNCTIONAL,
	  a_task_takes_the_commands_of_one_job },
	{ "tasks-a-banned-queue-takes-no-tasks", FUNCTIONAL " ban_offences=2",
	  a_banned_queue_takes_no_tasks },
	{ 0 },
};
