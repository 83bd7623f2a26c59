// SPDX-License-Identifier: MIT
/* Groups, and tasks on several cores whose segments are groups. */
#include "fail_nth_operations.h"

#include <string.h>

#include "check.h"
#include "group.h"
#include "ring.h"

#define TAG		5
#define WITH_RECORD	1ul
#define LONG		2ul /* the group is in flight until it is stopped */

/* The group of the subject: there is only one at a time. */
static struct group group;
static uint32_t queue;
static struct overtake_task_segment segments[3];
static struct overtake_segment_parts parts[3];
static struct overtake_extension_task_parts extension;
static struct drm_overtake_task_submit task;

static void prepare_group(struct subject *subject)
{
	uint32_t i;

	for (i = 0; i < GROUP_FCS; i++)
		put_delay(&subject->client, i, subject->variant & LONG ? 4000000000ull : 1000);
	group_init(&group, &subject->client, TAG, 0);
	if (subject->variant & WITH_RECORD)
		group_wants_record(&group, &subject->client);
}

static int run_submit(struct subject *subject)
{
	return job_submit(&subject->client, &group.job);
}

static void prepare_ring_submit(struct subject *subject)
{
	prepare_group(subject);
	ring_open_to_abandon(&subject->ring);
	subject->has_ring = true;
	ring_prepare(&subject->ring, subject->client.fd, OVERTAKE_URING_SUBMIT, &group.job.submit,
		     sizeof(group.job.submit), TAG);
}

static void submit_group(struct subject *subject)
{
	prepare_group(subject);
	check_equal(run_submit(subject), 0);
}

static int run_cancel(struct subject *subject)
{
	return job_cancel(&subject->client, TAG);
}

/* Makes a task of a group, a CPU segment, and a job. */
static void prepare_task(struct subject *subject)
{
	struct drm_overtake_context_create create = { .max_priority = 254, .flags = 4 };
	uint32_t i;

	check_equal(device_ioctl(subject->client.fd, DRM_IOCTL_OVERTAKE_CONTEXT_CREATE, &create), 0);
	queue = create.context_id;
	prepare_group(subject);
	group.parts[0].core = OVERTAKE_CORE_ANY;
	group.parts[1].core = OVERTAKE_CORE_ANY;
	memset(segments, 0, sizeof(segments));
	for (i = 0; i < 3; i += 2) {
		segments[i].fcs = group.job.submit.fcs;
		segments[i].bindings = group.job.submit.bindings;
		segments[i].binding_count = group.job.submit.binding_count;
		segments[i].scratch_bytes = 1 << 16;
	}
	segments[0].fc_count = GROUP_FCS;
	segments[1].expected_ns = 1000;
	segments[2].fc_count = 1;
	memset(parts, 0, sizeof(parts));
	parts[0] = (struct overtake_segment_parts){
		.parts = (uintptr_t)group.parts, .stages = (uintptr_t)group.stages,
		.part_count = 2, .stage_count = 3,
	};
	extension = (struct overtake_extension_task_parts){
		.base = { .type = OVERTAKE_EXTENSION_TASK_PARTS },
		.segments = (uintptr_t)parts, .width = 2,
	};
	task = (struct drm_overtake_task_submit){
		.segments = (uintptr_t)segments, .tag = TAG, .deadline_ns = ~0ull,
		.extensions = (uintptr_t)&extension, .context_id = queue, .segment_count = 3,
		.priority = 10,
	};
}

static int run_task_submit(struct subject *subject)
{
	return device_ioctl(subject->client.fd, DRM_IOCTL_OVERTAKE_TASK_SUBMIT, &task);
}

static void prepare_ring_task(struct subject *subject)
{
	prepare_task(subject);
	ring_open_to_abandon(&subject->ring);
	subject->has_ring = true;
	ring_prepare(&subject->ring, subject->client.fd, OVERTAKE_URING_TASK_SUBMIT, &task,
		     sizeof(task), TAG);
}

static void submit_tasks(struct subject *subject)
{
	prepare_task(subject);
	for (; task.tag < TAG + 10; task.tag++)
		check_equal(run_task_submit(subject), 0);
}

static int run_destroy_queue(struct subject *subject)
{
	return context_destroy(subject->client.fd, queue);
}

const struct operation group_operations[] = {
	{ "SUBMIT of a group", prepare_group, run_submit, 0 },
	{ "SUBMIT of a group with a record", prepare_group, run_submit, WITH_RECORD },
	{ "io_uring SUBMIT of a group", prepare_ring_submit, subject_run_ring, WITH_RECORD },
	{ "CANCEL of a group", submit_group, run_cancel, LONG },
	{ "close with a group in flight", submit_group, subject_run_close, LONG },
	{ "TASK_SUBMIT on two cores", prepare_task, run_task_submit, 0 },
	{ "io_uring TASK_SUBMIT on two cores", prepare_ring_task, subject_run_ring, 0 },
	{ "CONTEXT_DESTROY with tasks on two cores", submit_tasks, run_destroy_queue, LONG },
	{ "close with tasks on two cores", submit_tasks, subject_run_close, LONG },
	{ 0 },
};
