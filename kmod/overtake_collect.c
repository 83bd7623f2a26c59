// SPDX-License-Identifier: GPL-2.0-only
/*
 * What has ended, until the client takes it (WAIT) or its context dies.  A job is in the list
 * context->ended from its ENDED event on, under the device lock; whoever takes it out of the list
 * takes over the reference of the context's tree.
 */
#include <linux/dma-fence.h>

#include "overtake_collect.h"
#include "overtake_ctx.h"
#include "overtake_job.h"
#include "overtake_job_memory.h"

/*
 * Takes the job that WAIT asks for out of its context.  *@found with the tree's reference and 0;
 * -ENOENT if there is none (-ENODEV: nor will there be), -EAGAIN if it has not ended yet.
 */
static int try_collect(struct overtake_context *context, const struct drm_overtake_wait *args,
		       struct overtake_job **found)
{
	struct overtake_device *device = context->client->device;
	struct overtake_job *job;
	int ret = -ENOENT;

	spin_lock_irq(&device->lock);
	if (args->flags & OVERTAKE_WAIT_ANY) {
		job = list_first_entry_or_null(&context->ended, struct overtake_job, collect_link);
		if (!job && context->collectable_count)
			ret = -EAGAIN;
	} else {
		job = overtake_job_find_tag_locked(context, args->tag);
		if (job && !job->collectable)
			job = NULL;
		if (job && job->state != OVERTAKE_JOB_ENDED) {
			job = NULL;
			ret = -EAGAIN;
		}
	}
	if (context->dead) {
		ret = -ENOENT;
	} else if (job) {
		list_del_init(&job->collect_link);
		context->client->ended_count--;
		overtake_job_leave_tree_locked(job);
		*found = job;
		ret = 0;
	}
	/* Its end may have been collected by another thread. */
	if (ret == -ENOENT && device->gone)
		ret = -ENODEV;
	spin_unlock_irq(&device->lock);
	return ret;
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
	error = wait_event_interruptible_hrtimeout(context->wait,
						   (ret = try_collect(context, args, found)) !=
						   -EAGAIN, timeout);
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
		/* Being signalled right now: whoever was told of the end finds the buffers idle. */
		dma_fence_wait(job->fence, false);
		flush_work(&job->access_work);
		args->result = job->result;
		overtake_job_put_sleeping(job);
	}
	overtake_context_put(context);
	return ret;
}

/* The context dies: nobody will collect what has ended.  References move to @forgotten. */
void overtake_jobs_forget_ended_locked(struct overtake_context *context,
				       struct list_head *forgotten)
{
	struct overtake_job *job;

	lockdep_assert_held(&context->client->device->lock);
	list_for_each_entry(job, &context->ended, collect_link) {
		overtake_job_leave_tree_locked(job);
		context->client->ended_count--;
	}
	list_splice_tail_init(&context->ended, forgotten);
}

void overtake_jobs_put_forgotten(struct list_head *forgotten)
{
	struct overtake_job *job, *next;

	list_for_each_entry_safe(job, next, forgotten, collect_link) {
		list_del_init(&job->collect_link);
		overtake_job_put_sleeping(job);
	}
}
