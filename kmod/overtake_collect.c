// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ended jobs, until the client collects them (WAIT) or their context dies.  A job that WAIT
 * collects is in the list context->ended from its delivery on, under the device lock.  The caller
 * that takes it out of the list takes over the reference of the context's tree.
 */
#include "overtake_client.h"
#include "overtake_collect.h"
#include "overtake_job.h"
#include "overtake_job_memory.h"
#include "overtake_job_tree.h"
#include "overtake_lock.h"
#include "overtake_recording.h"

/* Jobs of a dead context that are forgotten in one hold of the device lock. */
#define FORGOTTEN_AT_ONCE	64u

/* Returns the job that WAIT names; -ENOENT if there is none, -EAGAIN if it is not delivered yet. */
static struct overtake_job *find_ended_locked(struct overtake_context *context,
					      const struct drm_overtake_wait *args)
{
	struct overtake_job *job;

	if (context->dead)
		return ERR_PTR(-ENOENT);
	if (args->flags & OVERTAKE_WAIT_ANY) {
		job = list_first_entry_or_null(&context->ended, struct overtake_job, collect_link);
		if (job)
			return job;
		return ERR_PTR(context->collectable_count ? -EAGAIN : -ENOENT);
	}
	job = overtake_job_find_tag_locked(context, args->tag);
	if (!job || !job->collectable)
		return ERR_PTR(-ENOENT);
	return list_empty(&job->collect_link) ? ERR_PTR(-EAGAIN) : job;
}

/*
 * Takes the job that WAIT names out of its context.  Returns 0 and *@found with the tree's
 * reference; -ENOENT if there is none; -ENODEV if there is none and the device is gone; -EAGAIN if
 * the job is not delivered yet.
 */
static int try_collect(struct overtake_context *context, const struct drm_overtake_wait *args,
		       struct overtake_job **found)
{
	struct overtake_device *device = context->client->device;
	struct overtake_job *job;

	guard(overtake_lock)(device);
	job = find_ended_locked(context, args);
	/* Another thread may have collected the job. */
	if (job == ERR_PTR(-ENOENT) && device->gone)
		return -ENODEV;
	if (IS_ERR(job))
		return PTR_ERR(job);
	list_del_init(&job->collect_link);
	context->client->ended_count--;
	overtake_job_leave_tree_locked(job);
	overtake_recording_note_end(job);
	*found = job;
	return 0;
}

static int wait_and_collect(struct overtake_context *context,
			    const struct drm_overtake_wait *args, struct overtake_job **found)
{
	int ret = try_collect(context, args, found);
	ktime_t timeout;
	int error;

	if (ret != -EAGAIN)
		return ret;
	timeout = ktime_sub(ns_to_ktime(args->deadline_ns), ktime_get());
	if (timeout <= 0)
		return -ETIMEDOUT;
	if (args->deadline_ns == OVERTAKE_DEADLINE_NEVER)
		timeout = KTIME_MAX;
	error = overtake_context_add_waiter(context);
	if (error)
		return error;
	error = wait_event_interruptible_hrtimeout(context->wait,
						   (ret = try_collect(context, args, found)) !=
						   -EAGAIN, timeout);
	overtake_context_remove_waiter(context);
	if (ret != -EAGAIN)
		return ret;
	return error == -ETIME ? -ETIMEDOUT : error;
}

int overtake_wait_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_overtake_wait *args = data;
	struct overtake_context *context;
	struct overtake_job *job;
	int ret;

	if ((args->flags & ~OVERTAKE_WAIT_ANY) || args->deadline_ns < 0 ||
	    ((args->flags & OVERTAKE_WAIT_ANY) && args->tag))
		return -EINVAL;
	context = overtake_context_find(file->driver_priv, args->context_id);
	if (!context)
		return -ENOENT;
	ret = wait_and_collect(context, args, &job);
	if (!ret) {
		args->result = job->result;
		overtake_job_put_sleeping(job);
	}
	overtake_context_put(context);
	return ret;
}

/*
 * The context is dead, so its ended jobs are collected no more.  Moves some of them, with their
 * references, to @forgotten; returns true if there are more.
 */
bool overtake_jobs_forget_some_locked(struct overtake_context *context,
				      struct list_head *forgotten)
{
	u32 left = FORGOTTEN_AT_ONCE;

	lockdep_assert_held(&context->client->device->lock);
	while (left-- && !list_empty(&context->ended)) {
		struct overtake_job *job = list_first_entry(&context->ended, struct overtake_job,
							    collect_link);

		overtake_job_leave_tree_locked(job);
		context->client->ended_count--;
		list_move_tail(&job->collect_link, forgotten);
	}
	return !list_empty(&context->ended);
}

void overtake_jobs_put_forgotten(struct list_head *forgotten)
{
	struct overtake_job *job, *next;

	list_for_each_entry_safe(job, next, forgotten, collect_link) {
		list_del_init(&job->collect_link);
		overtake_job_put_sleeping(job);
	}
}
