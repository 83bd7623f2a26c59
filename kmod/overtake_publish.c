// SPDX-License-Identifier: GPL-2.0-only
/*
 * Publication of jobs: the step from a job that only its submitter knows to one of the device.
 *
 * overtake_job.c has the life of a job and the order of locks.  This file has the step from NEW to
 * BLOCKED or IN_FLIGHT: reservations, admission, fences, arrival.
 */
#include <linux/dma-fence.h>
#include <linux/dma-resv.h>

#include <drm/drm_gem.h>

#include "overtake_client.h"
#include "overtake_extension.h"
#include "overtake_fence.h"
#include "overtake_host.h"
#include "overtake_job.h"
#include "overtake_job_memory.h"
#include "overtake_job_tree.h"
#include "overtake_limits.h"
#include "overtake_lock.h"
#include "overtake_recording.h"
#include "overtake_trace.h"
#include "overtake_user.h"
#include "host/limits.h"

/* Admits the job: the last step that can fail. */
static int admit_locked(struct overtake_job *job)
{
	struct overtake_device *device = overtake_job_device(job);
	struct overtake_context *context = job->context;
	int ret;

	lockdep_assert_held(&device->lock);
	if (device->gone)
		return -ENODEV;
	if (context->dead)
		return -ENOENT;
	if (context->banned)
		return -ESHUTDOWN;
	if (job->cancel_requested)
		return -ECANCELED;
	ret = overtake_judge(context->client,
			     ovt_check_room(overtake_job_find_tag_locked(context, job->tag),
					    context->job_count, context->client->job_count));
	if (ret)
		return ret;
	/* SUBMIT and one CANCEL */
	return overtake_user_add_job_locked(context->client,
					    overtake_context_is_privileged(context));
}

/* From here on the job is known, and will end.  Its two command slots are reserved. */
static void publish_locked(struct overtake_job *job)
{
	struct overtake_device *device = overtake_job_device(job);
	struct overtake_context *context = job->context;

	lockdep_assert_held(&device->lock);
	if (job->open_cores)
		job->fw.core = ovt_fw_place(&device->fw, &context->fw, job->open_cores);
	overtake_job_get(job); /* the firmware's */
	overtake_job_get(job); /* the tree's */
	overtake_job_enter_tree_locked(job);
	trace_job_queue(job);
	overtake_job_begin_flight_locked(job);
}

static int reserve_fence_slots(struct overtake_job *job)
{
	u32 i;
	int ret;

	for (i = 0; i < job->object_count; i++) {
		ret = dma_resv_reserve_fences(job->objects[i]->resv, 1);
		if (ret)
			return ret;
	}
	return 0;
}

/* Makes the job's buffers show that it uses them. */
static void begin_uses(struct overtake_job *job)
{
	u32 i;

	for (i = 0; i < job->object_count; i++)
		overtake_use_begin(&job->uses[i], job->objects[i], job->object_written[i]);
}

static int admit_and_publish(struct overtake_job *job)
{
	int ret;

	guard(overtake_lock)(overtake_job_device(job));
	ret = admit_locked(job);
	if (!ret)
		publish_locked(job);
	return ret;
}

/*
 * Makes a job whose reservations are locked known to the device, to its buffers and to syncobjs.
 * The job cannot end before finish_publication(), so a client that reads of its end finds all
 * fences set.
 */
static int publish_reserved(struct overtake_job *job)
{
	int ret = admit_and_publish(job);

	if (ret)
		return ret;
	begin_uses(job);
	overtake_syncs_attach(job);
	return 0;
}

/* Lets the job move on by itself: it arrives now, or when its fences are signalled. */
static void finish_publication(struct overtake_job *job)
{
	struct overtake_device *device = overtake_job_device(job);
	bool unblocked, more;

	overtake_syncs_arm(job);
	overtake_lock(device);
	job->state = OVERTAKE_JOB_BLOCKED;
	unblocked = atomic_dec_and_test(&job->syncs.pending);
	/* With an error it is, or soon will be, on the list as well; there it is found ended. */
	if (job->cancel_requested)
		overtake_job_end_blocked_locked(job, job->cancel_status);
	else if (unblocked || job->syncs.error)
		overtake_job_unblock_locked(job);
	more = overtake_host_run_locked(device);
	overtake_unlock(device);
	overtake_host_go_on(device, more);
}

/* Publishes a job that no reservation object shows. */
static int publish_with_syncs(struct overtake_job *job)
{
	int ret = admit_and_publish(job);

	if (ret)
		return ret;
	overtake_syncs_attach(job);
	finish_publication(job);
	return 0;
}

/*
 * Locks the reservations like drm_gem_lock_reservations(), but ignores pending signals.  In a
 * system call of io_uring any task work counts as a signal, and a submission must not fail for it.
 */
static void lock_reservations_uninterruptible(struct overtake_job *job,
					      struct ww_acquire_ctx *ticket)
{
	u32 contended = job->object_count; /* none */
	u32 i;

	ww_acquire_init(ticket, &reservation_ww_class);
	for (i = 0; i < job->object_count; i++) {
		if (i == contended || !dma_resv_lock(job->objects[i]->resv, ticket))
			continue;
		/* -EDEADLK: an older ticket holds it.  Give way, wait for it, and start again. */
		if (contended < job->object_count && contended > i)
			dma_resv_unlock(job->objects[contended]->resv);
		contended = i;
		while (i--)
			dma_resv_unlock(job->objects[i]->resv);
		dma_resv_lock_slow(job->objects[contended]->resv, ticket);
		/* The loop goes on with 0. */
	}
	ww_acquire_done(ticket);
}

static void end_uses(struct overtake_job *job, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		overtake_use_end(&job->uses[i], job->objects[i], job->object_written[i], 0);
}

/* Begins the uses of private buffers.  False: a buffer is not private, and no use has begun. */
bool overtake_job_begin_private_uses(struct overtake_job *job)
{
	u32 i;

	for (i = 0; i < job->object_count; i++)
		if (!overtake_use_begin_private(&job->uses[i], job->objects[i],
						job->object_written[i])) {
			end_uses(job, i);
			return false;
		}
	return true;
}

/* Refuses @jobs, which never ran, with @error; returns all of them as overtake_jobs_publish(). */
u32 overtake_jobs_refuse(struct overtake_job **jobs, u32 count, int error)
{
	u32 i;

	for (i = 0; i < count; i++) {
		jobs[i]->result.status = error;
		end_uses(jobs[i], jobs[i]->object_count);
	}
	return GENMASK(count - 1, 0);
}

/* Makes a job without fences known and submits it.  Returns 0 or an error. */
static int publish_and_submit_locked(struct overtake_job *job)
{
	int ret = admit_locked(job);

	if (ret)
		return ret;
	publish_locked(job);
	atomic_dec(&job->syncs.pending); /* the submitter's */
	overtake_job_submit_locked(job);
	return 0;
}

/*
 * overtake_jobs_publish - hand jobs to the device in one hold of its lock
 * @jobs: jobs of one client, without fences, whose private uses have begun
 * @count: from 1 to OVERTAKE_PLUGGED_MOST
 * @more: receives the argument of overtake_host_go_on(), which the caller calls
 *
 * Returns the jobs that are refused, BIT(i) for jobs[i]: their results have the error, and only the
 * caller refers to them.  Does not sleep, and may be called by a task that is about to sleep.
 */
u32 overtake_jobs_publish(struct overtake_job **jobs, u32 count, bool *more)
{
	struct overtake_device *device = overtake_job_device(jobs[0]);
	bool signalling = dma_fence_begin_signalling();
	u32 refused = 0;
	u32 i;

	overtake_lock(device);
	for (i = 0; i < count; i++) {
		int ret = publish_and_submit_locked(jobs[i]);

		if (!ret)
			continue;
		jobs[i]->result.status = ret;
		refused |= BIT(i);
	}
	*more = overtake_host_run_locked(device);
	overtake_unlock(device);
	for (i = 0; i < count; i++)
		if (refused & BIT(i))
			end_uses(jobs[i], jobs[i]->object_count);
	dma_fence_end_signalling(signalling);
	return refused;
}

/*
 * Publishes a replay whose buffers are its client's alone: no reservation object shows that it uses
 * them.  -EAGAIN: one of them is shared, and nothing has changed.
 */
static int publish_private(struct overtake_job *job)
{
	bool signalling, more;
	u32 refused;
	int ret;

	if (!overtake_job_begin_private_uses(job))
		return -EAGAIN;
	if (!overtake_syncs_any(job)) {
		refused = overtake_jobs_publish(&job, 1, &more);
		overtake_host_go_on(overtake_job_device(job), more);
		return refused ? job->result.status : 0;
	}
	signalling = dma_fence_begin_signalling();
	ret = publish_with_syncs(job);
	if (ret)
		end_uses(job, job->object_count);
	dma_fence_end_signalling(signalling);
	return ret;
}

static int publish_in_reservations(struct overtake_job *job, bool interruptible)
{
	struct ww_acquire_ctx ticket;
	bool signalling;
	int ret = 0;

	if (interruptible)
		ret = drm_gem_lock_reservations(job->objects, job->object_count, &ticket);
	else
		lock_reservations_uninterruptible(job, &ticket);
	if (ret)
		return ret;
	ret = reserve_fence_slots(job);
	if (!ret)
		ret = overtake_syncs_add_implicit(job);
	signalling = dma_fence_begin_signalling();
	if (!ret)
		ret = publish_reserved(job);
	drm_gem_unlock_reservations(job->objects, job->object_count, &ticket);
	if (!ret)
		finish_publication(job);
	dma_fence_end_signalling(signalling);
	return ret;
}

static int publish_replay(struct overtake_job *job, bool interruptible)
{
	int ret = publish_private(job);

	if (ret != -EAGAIN)
		return ret;
	ret = overtake_job_prepare_uses(job);
	return ret ? ret : publish_in_reservations(job, interruptible);
}

/*
 * overtake_job_publish - hand a new job to the device
 *
 * Returns 0, and the job will end; or an error, and the job never ran and only the caller refers to
 * it (-EEXIST tag in use, -ENOSPC, -ENOENT context dead, -ESHUTDOWN context banned, -ECANCELED
 * cancelled meanwhile, -ENODEV, -ENOMEM; -EINTR only if @interruptible).  May sleep until others
 * release the buffers' reservations.
 */
int overtake_job_publish(struct overtake_job *job, bool interruptible)
{
	return job->recording ? publish_replay(job, interruptible) :
				publish_in_reservations(job, interruptible);
}

/* Publishes a new job that WAIT collects. */
static int submit_to_be_collected(struct overtake_job *job)
{
	int ret;

	if (IS_ERR(job))
		return PTR_ERR(job);
	job->collectable = true;
	ret = overtake_job_publish(job, true);
	if (!ret)
		overtake_extensions_answer(job);
	overtake_job_put_sleeping(job);
	return ret;
}

int overtake_submit_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	return submit_to_be_collected(overtake_job_create(file, data));
}

int overtake_replay_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	return submit_to_be_collected(overtake_recording_replay(file, data));
}
