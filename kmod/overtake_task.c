// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tasks of service mode: the calls of clients.
 *
 * A task is complete before it is published: its segments are copied and checked, and the jobs of
 * all of them created.  Then one hold of the device lock reserves command slots and publishes it.
 * From then on nothing about it is refused, whatever else goes on.  overtake_service.c has its
 * further life, and overtake_task_events.c the events that its process gets.
 *
 * A task holds its context and, until each has ended, its jobs.  It belongs to the call that
 * collects its end or, when its context has died, to the service, which frees it.
 */
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "overtake_client.h"
#include "overtake_clock.h"
#include "overtake_extension.h"
#include "overtake_free.h"
#include "overtake_group.h"
#include "overtake_host.h"
#include "overtake_job.h"
#include "overtake_job_memory.h"
#include "overtake_limits.h"
#include "overtake_lock.h"
#include "overtake_task.h"
#include "overtake_user.h"
#include "service/cost.h"

/* Instructions that are priced before others may have the CPU. */
#define PRICED_AT_ONCE	256u

static struct overtake_client *client_of(const struct overtake_task *task)
{
	return task->context->client;
}

/* Returns a context that has workers, with a reference for the caller; or -ENOENT, -EINVAL. */
struct overtake_context *overtake_task_find_queue(struct overtake_client *client, u32 id)
{
	struct overtake_context *context = overtake_context_find(client, id);

	if (!context)
		return ERR_PTR(-ENOENT);
	if (context->tasks)
		return context;
	overtake_context_put(context);
	return ERR_PTR(-EINVAL);
}

/* Returns the error of calls for a context that has gone, or 0. */
int overtake_task_state_locked(const struct overtake_context *context)
{
	lockdep_assert_held(&context->client->device->lock);
	if (context->client->device->gone)
		return -ENODEV;
	return context->dead ? -ENOENT : 0;
}

/* Memory */

/* May sleep. */
void overtake_task_free(struct overtake_task *task)
{
	u32 i;

	for (i = 0; i < task->service.sched.segment_count; i++)
		if (task->jobs[i])
			overtake_job_put_sleeping(task->jobs[i]);
	overtake_client_uncharge(client_of(task), task->charged_bytes);
	overtake_context_put(task->context);
	kvfree(task);
}

static void task_free_garbage(struct overtake_garbage *garbage)
{
	overtake_task_free(container_of(garbage, struct overtake_task, garbage));
}

/* @width: 0 if it has no groups; its gaps and cores are at @memory. */
static void set_width(struct overtake_task *task, u32 width, void *memory)
{
	if (!width)
		return;
	task->span.width = width;
	task->span.gaps = memory;
	task->service.cores = (void *)(task->span.gaps + width);
	if (width > 1)
		task->service.sched.span = &task->span;
}

/* Allocates a task.  Takes over the reference to @context, also when it fails. */
static struct overtake_task *task_alloc(struct overtake_context *context, u32 count, u32 width)
{
	struct overtake_task *task;
	size_t bytes = sizeof(*task) +
		       count * (sizeof(*task->jobs) + sizeof(*task->segments) +
				sizeof(*task->keys) + sizeof(*task->results)) +
		       width * (sizeof(*task->span.gaps) + sizeof(*task->service.cores));
	int ret = overtake_client_charge(context->client, bytes);

	if (ret)
		goto put;
	ret = -ENOMEM;
	task = kvzalloc(bytes, GFP_KERNEL_ACCOUNT);
	if (!task)
		goto uncharge;
	task->context = context;
	task->charged_bytes = bytes;
	task->results = (void *)(task + 1);
	task->segments = (void *)(task->results + count);
	task->keys = (void *)(task->segments + count);
	task->jobs = (void *)(task->keys + count);
	set_width(task, width, task->jobs + count);
	task->service.segments = task->segments;
	task->service.keys = task->keys;
	task->service.results = task->results;
	task->service.sched.segment_count = count;
	return task;

uncharge:
	overtake_client_uncharge(context->client, bytes);
put:
	overtake_context_put(context);
	return ERR_PTR(ret);
}

/* The jobs of a task */

/* Gives back the command slots of a task of which no further job is submitted. */
static void give_back_slots_locked(struct overtake_task *task)
{
	struct overtake_client *client = client_of(task);

	lockdep_assert_held(&client->device->lock);
	if (!task->slots)
		return;
	ovt_fw_unreserve(&client->device->fw, task->slots);
	task->slots = 0;
	client->job_count--;
	overtake_user_remove_job_locked(client);
}

/*
 * The job of the current segment has ended; its memory is freed when the end has been delivered.  A
 * job that was to be cancelled counts as not ended well, however far it came: its CANCEL command
 * takes a slot, and the task has no slots for another job.
 */
static void job_ended_locked(struct overtake_job *job)
{
	struct overtake_task *task = job->task;
	u32 segment = task->service.sched.segment;

	if (job->cancel_requested) {
		task->slots--;
		if (!job->result.status)
			job->result.status = job->cancel_status;
	}
	if (job->cancel_requested || !task->jobs_left)
		give_back_slots_locked(task);
	ovt_service_job_ended(&task->service, &job->result,
			      job->group ? job->group->fw.alone_ns : job->result.executed_ns);
	task->jobs[segment] = NULL;
	job->task = NULL;
	overtake_job_put(job);
}

/* Submission */

/* Returns the device address of the job's program; no other mapping ever has that address. */
static u64 program_address(const struct overtake_job *job)
{
	const u8 *base = job->fw.regions[OVERTAKE_REGION_PROGRAM].base;
	u32 i;

	for (i = 0; base && i < job->mapping_count; i++) {
		const struct overtake_mapping *mapping = job->mappings[i];

		if (base >= mapping->base && base < mapping->base + mapping->size)
			return mapping->address + (base - mapping->base);
	}
	return 0;
}

/* Returns the recorded time of @key; OVT_TIME_NEVER if there is no record. */
static u64 recorded(struct overtake_context *context, u64 key)
{
	struct overtake_device *device = context->client->device;
	u64 time_ns;

	overtake_lock(device);
	time_ns = ovt_records_time(&context->tasks->process.records, key, OVT_TIME_NEVER);
	overtake_unlock(device);
	return time_ns;
}

/*
 * Returns the expected time of a segment: its record, which may be gone when the task is submitted,
 * or else the time by the cycle model.
 */
static u64 guess(struct overtake_task *task, u32 index, const struct overtake_job *job)
{
	const struct overtake_settings *settings = &client_of(task)->device->settings;
	u64 time_ns = recorded(task->context, task->keys[index]);
	struct ovt_cost cost;

	if (time_ns != OVT_TIME_NEVER)
		return time_ns;
	if (index && task->keys[index - 1] == task->keys[index])
		return task->segments[index - 1].time;
	if (job->group)
		ovt_cost_begin_group(&cost, settings->profiles, job->fw.regions, &job->group->fw);
	else
		ovt_cost_begin(&cost, settings->profiles, job->fw.regions,
			       (const struct overtake_fc *)job->fcs, job->fw.fc_count);
	while (ovt_cost_step(&cost, PRICED_AT_ONCE)) {
		cond_resched();
		if (fatal_signal_pending(current))
			break; /* add_segments() looks as well */
	}
	return ovt_cost_ns(&cost);
}

static u64 key_of(const struct overtake_job *job)
{
	if (job->group)
		return ovt_record_key_of_group(program_address(job), &job->group->fw);
	return ovt_record_key_of_fcs(program_address(job), (const struct overtake_fc *)job->fcs,
				     job->fw.fc_count);
}

static int add_job(struct overtake_task *task, u32 index,
		   const struct drm_overtake_task_submit *args,
		   const struct overtake_task_segment *segment,
		   const struct overtake_segment_parts *parts)
{
	const struct drm_overtake_submit wanted = {
		.fcs = segment->fcs,
		.bindings = segment->bindings,
		.tag = args->tag,
		.custom_id = args->custom_id,
		.deadline_ns = OVERTAKE_DEADLINE_NEVER,
		.context_id = args->context_id,
		.fc_count = segment->fc_count,
		.binding_count = segment->binding_count,
		.core = args->core,
		.scratch_bytes = segment->scratch_bytes,
		.priority = args->priority,
	};
	struct overtake_job *job = overtake_job_create_for_task(task->context, &wanted, parts);

	if (IS_ERR(job))
		return PTR_ERR(job);
	job->task = task;
	job->end_of_task_locked = job_ended_locked;
	job->fw.context = &client_of(task)->device->service->context;
	task->jobs[index] = job;
	task->jobs_left++;
	task->keys[index] = key_of(job);
	task->segments[index].fc_count = segment->fc_count;
	task->segments[index].time = guess(task, index, job);
	return 0;
}

/* Copies the parts of segment @index; all zero if the task has none. */
static int copy_parts(const struct overtake_task_extensions *extensions, u32 index,
		      struct overtake_segment_parts *parts)
{
	const struct overtake_segment_parts __user *user =
		u64_to_user_ptr(extensions->parts.segments);

	memset(parts, 0, sizeof(*parts));
	if (!extensions->has_parts)
		return 0;
	if (copy_from_user(parts, user + index, sizeof(*parts)))
		return -EFAULT;
	return !parts->part_count && (parts->parts || parts->stages || parts->stage_count) ?
	       -EINVAL : 0;
}

/* Adds segment @index.  *@most: greatest number of parts of a segment so far. */
static int add_segment(struct overtake_task *task, u32 index,
		       const struct drm_overtake_task_submit *args,
		       const struct overtake_task_extensions *extensions, u32 *most)
{
	const struct overtake_task_segment __user *user = u64_to_user_ptr(args->segments);
	struct overtake_task_segment segment;
	struct overtake_segment_parts parts;
	int ret;

	if (copy_from_user(&segment, user + index, sizeof(segment)))
		return -EFAULT;
	if (segment.pad)
		return -EINVAL;
	ret = copy_parts(extensions, index, &parts);
	if (ret)
		return ret;
	*most = max(*most, parts.part_count);
	if (segment.fc_count)
		return add_job(task, index, args, &segment, &parts);
	if (segment.fcs || segment.bindings || segment.binding_count || segment.scratch_bytes ||
	    parts.part_count)
		return -EINVAL;
	task->keys[index] = ovt_record_key_of_cpu(segment.cpu_key);
	task->segments[index].time = segment.expected_ns;
	return 0;
}

static int add_segments(struct overtake_task *task,
			const struct drm_overtake_task_submit *args,
			const struct overtake_task_extensions *extensions)
{
	u32 most = 0;
	u32 i;
	int ret;

	for (i = 0; i < args->segment_count; i++) {
		ret = add_segment(task, i, args, extensions, &most);
		if (ret)
			return ret;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return extensions->has_parts && extensions->parts.width != most ? -EINVAL : 0;
}

/* Reserves slots for one job, SUBMIT and CANCEL: the task's jobs use them one after the other. */
static int reserve_slots_locked(struct overtake_task *task)
{
	bool privileged = overtake_context_is_privileged(task->context);
	struct overtake_client *client = client_of(task);
	int ret;

	if (!task->jobs_left)
		return 0;
	if (client->job_count >= OVERTAKE_MAX_CLIENT_JOBS)
		return overtake_refuse(client, OVERTAKE_LIMIT_CLIENT_JOBS, -ENOSPC);
	ret = overtake_user_add_job_locked(client, privileged);
	if (ret)
		return ret;
	client->job_count++;
	task->slots = 2;
	return 0;
}

/* Admits the task: the last step that can fail. */
static int admit_locked(struct overtake_task *task)
{
	struct overtake_context *context = task->context;
	int ret = overtake_task_state_locked(context);

	if (!ret && context->banned)
		ret = -ESHUTDOWN;
	if (!ret)
		ret = ovt_service_check_room(&context->tasks->process, task->service.tag);
	if (ret == -ENOSPC)
		return overtake_refuse(context->client, OVERTAKE_LIMIT_TASKS, ret);
	if (!ret && context->client->user->tasks >= OVERTAKE_MAX_USER_TASKS)
		return overtake_refuse(context->client, OVERTAKE_LIMIT_USER_TASKS, -ENOSPC);
	return ret ? ret : reserve_slots_locked(task);
}

static int publish(struct overtake_task *task)
{
	struct overtake_device *device = client_of(task)->device;
	int ret;

	scoped_guard(overtake_lock, device) {
		ret = admit_locked(task);
		if (ret)
			return ret;
		device->service->tasks++;
		client_of(task)->user->tasks++;
		ovt_service_submit(&task->context->tasks->process, &task->service,
				   overtake_clock_now(device));
	}
	overtake_host_kick(device);
	return 0;
}

static int check_args(struct overtake_context *context, const struct drm_overtake_task_submit *args,
		      struct overtake_task_extensions *extensions)
{
	struct overtake_client *client = context->client;
	u32 cores = client->device->settings.cores;
	int ret;

	if (args->flags || memchr_inv(args->reserved, 0, sizeof(args->reserved)))
		return -EINVAL;
	ret = ovt_service_check_task(args->segment_count, args->priority, args->core, cores,
				     context->max_priority);
	if (ret == -E2BIG)
		return overtake_refuse(client, OVERTAKE_LIMIT_SEGMENTS, ret);
	if (!ret)
		ret = overtake_extensions_of_task(args->extensions, extensions);
	/* Whether the width is that of its segments is checked when they are copied. */
	if (!ret && extensions->has_parts)
		ret = ovt_service_check_width(extensions->parts.width, extensions->parts.width,
					      args->core, cores);
	return ret;
}

/* May sleep. */
int overtake_task_submit(struct drm_file *file, const struct drm_overtake_task_submit *args)
{
	struct overtake_task_extensions extensions = {};
	struct overtake_context *context;
	struct overtake_task *task;
	int ret;

	context = overtake_task_find_queue(file->driver_priv, args->context_id);
	if (IS_ERR(context))
		return PTR_ERR(context);
	ret = check_args(context, args, &extensions);
	if (ret) {
		overtake_context_put(context);
		return ret;
	}
	task = task_alloc(context, args->segment_count, extensions.parts.width);
	if (IS_ERR(task))
		return PTR_ERR(task);
	task->model = extensions.model;
	task->service.tag = args->tag;
	task->service.sched.priority = args->priority;
	task->service.sched.core = args->core;
	task->service.sched.custom_id = args->custom_id;
	task->service.sched.deadline = args->deadline_ns;
	ret = add_segments(task, args, &extensions);
	if (!ret)
		ret = publish(task);
	if (ret)
		overtake_task_free(task);
	return ret;
}

/* For the service */

void overtake_task_forget_locked(struct overtake_task *task)
{
	give_back_slots_locked(task);
	client_of(task)->device->service->tasks--;
	client_of(task)->user->tasks--;
}

/*
 * Releases a task that is over and that no event reports.  A work item frees it, or the thread that
 * ends abandoned tasks.
 */
void overtake_task_release_locked(struct overtake_task *task)
{
	struct llist_head *ended = client_of(task)->device->service->ended;

	overtake_task_forget_locked(task);
	if (!ended) {
		overtake_free_soon(client_of(task), &task->garbage, task_free_garbage);
		return;
	}
	task->garbage.free = task_free_garbage;
	llist_add(&task->garbage.node, ended);
}

/* Reports and cancels */

/* Returns the result of @act for the task with @tag, under the device lock. */
static int with_task(struct overtake_client *client, u32 context_id, u64 tag,
		     int (*act)(struct ovt_service_task *task, const void *args, u64 now_ns),
		     const void *args)
{
	struct overtake_context *context = overtake_task_find_queue(client, context_id);
	struct overtake_device *device = client->device;
	struct ovt_service_task *task;
	int ret;

	if (IS_ERR(context))
		return PTR_ERR(context);
	overtake_lock(device);
	ret = overtake_task_state_locked(context);
	task = ret ? NULL : ovt_service_find(&context->tasks->process, tag);
	if (!ret)
		ret = task ? act(task, args, overtake_clock_now(device)) : -ENOENT;
	overtake_unlock(device);
	if (!ret)
		overtake_host_kick(device);
	overtake_context_put(context);
	return ret;
}

static int report_cpu(struct ovt_service_task *task, const void *data, u64 now_ns)
{
	const struct drm_overtake_task_cpu_done *args = data;
	s32 status = args->status;

	/* The ban's work item may not have reached the task yet. */
	if (!status && to_overtake_task(task)->context->banned)
		status = -ECANCELED;
	return ovt_service_cpu_done(task, args->segment, status, now_ns);
}

int overtake_task_cpu_done(struct overtake_client *client,
			   const struct drm_overtake_task_cpu_done *args)
{
	if (args->pad)
		return -EINVAL;
	return with_task(client, args->context_id, args->tag, report_cpu, args);
}

static int cancel(struct ovt_service_task *task, const void *args, u64 now_ns)
{
	return ovt_service_cancel(task, now_ns);
}

int overtake_task_cancel(struct overtake_client *client,
			 const struct drm_overtake_task_cancel *args)
{
	if (args->pad)
		return -EINVAL;
	return with_task(client, args->context_id, args->tag, cancel, args);
}

int overtake_task_submit_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	return overtake_task_submit(file, data);
}

int overtake_task_cpu_done_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	return overtake_task_cpu_done(file->driver_priv, data);
}

int overtake_task_cancel_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	return overtake_task_cancel(file->driver_priv, data);
}
