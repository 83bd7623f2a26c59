// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jobs: the one path behind both backends (ioctl, io_uring).
 *
 * DOC: life of a job
 *
 *	      overtake_job_create()	copy from user, validate, allocate, resolve addresses
 *				(overtake_job_memory.c)
 *	NEW
 *	      overtake_job_publish()	lock reservations, reserve fence slots, then under the
 *					device lock: admission, the last step that can fail
 *					(overtake_publish.c).  Then buffers and syncobjs get
 *					their fences.  A thread that cancels the job meanwhile
 *					leaves the cancel to the submitter
 *	BLOCKED
 *	      overtake_job_unblock_locked()
 *					the fences that it waits for are signalled: SUBMIT.  A job
 *					without such fences passes through at once
 *	IN_FLIGHT
 *	      ENDED event		overtake_job_ended_locked(): result final, result record
 *					written; the core accesses the job's memory no more
 *	ENDED
 *	      deliver_work		fence signalled, io_uring command completed, waiters woken
 *					(overtake_deliver.c)
 *	      WAIT			collects a job that came in through ioctl
 *
 * The firmware is the only owner of a job's end: a job in state IN_FLIGHT ends by the ENDED event
 * and by nothing else.  The driver ends a blocked job, which the firmware does not know: the job
 * goes straight to its client's list, under the device lock.  Cancel, deadline, kill -9, reset and
 * removal of the device only make the ENDED event come.  They reach the firmware through CANCEL and
 * KILL_CONTEXT, whose command slots are reserved at admission, so a request for the end never fails
 * either.
 *
 * DOC: who holds a reference to a job
 *
 *	submitter		from creation to the end of its system call
 *	firmware		admission to delivery of the end
 *	CANCEL command		from CANCEL to the CANCELLED event, which may come after ENDED
 *	end of CPU access	delivery of the end to the work item that ends it
 *	task			creation to the job's end, or the task's (overtake_task.c)
 *	context's tree (tag)	admission to collection by WAIT; io_uring: to its end; at the
 *				latest, the death of the context
 *	io_uring command	creation to completion of the command (in its pdu)
 *
 * A job holds its context (which holds client and device), its mappings (which hold buffers) and
 * its fences.  Fences are allocations of their own (overtake_fence.c): reservation objects and
 * syncobjs keep them long after the job has gone.  Where the last reference to a job is dropped in
 * atomic context, a work item frees its memory.
 *
 * DOC: who completes an io_uring command
 *
 * The function that takes job->command by xchg() completes it: delivery, the cancel callback of
 * io_uring, or the submitter (also by its plug) when publication failed.  xchg() orders the
 * completion after all that the taker wrote to the job.
 *
 * DOC: lock order
 *
 *	io_uring's uring_lock -> client->lock -> dma_resv
 *	io_uring's uring_lock -> dma_resv -> device->lock -> (scheduler, timer, wait queue)
 *	a fence's lock -> device->lock (overtake_sync.c)
 *
 * Under dma_resv nothing is copied from or to user space, and only what is counted there is
 * allocated: fence slots, and room for the fences found.  Fences are signalled and commands
 * completed outside device->lock.  device->lock is taken with interrupts off, since the device's
 * timer takes it.
 *
 * DOC: barriers
 *
 *	fetch of an instruction	firmware-sim copies it, then a compiler barrier, then looks at the
 *				copy only: clients share that memory
 *	exec.abort, queues	store-release and load-acquire in firmware-sim, paired by name
 *	everything else		device->lock
 */
#include "overtake_client.h"
#include "overtake_clock.h"
#include "overtake_deliver.h"
#include "overtake_fence.h"
#include "overtake_group.h"
#include "overtake_host.h"
#include "overtake_job.h"
#include "overtake_job_memory.h"
#include "overtake_job_tree.h"
#include "overtake_lock.h"
#include "overtake_slices.h"
#include "overtake_trace.h"
#include "overtake_user.h"
#include "host/job_result.h"
#include "host/limits.h"

/* Jobs that one hold of the device lock looks at when all jobs of a context are cancelled. */
#define CANCELLED_AT_ONCE	64u

/* Counts a job that is known from now on, and starts its deadline. */
void overtake_job_begin_flight_locked(struct overtake_job *job)
{
	struct overtake_device *device = overtake_job_device(job);

	/* Root, who steps the manual clock, may also let it stand: no maximum. */
	job->deadline_ns = ovt_job_deadline(job->deadline_ns, overtake_clock_now(device),
					    device->settings.queue_timeout_ns,
					    device->manual ? OVT_TIME_NEVER :
							     device->settings.deadline_max_ns);
	overtake_job_add_deadline_locked(job);
	device->jobs_in_flight++;
	job->context->undelivered++;
}

/* Submits the job to the firmware: it arrives. */
void overtake_job_submit_locked(struct overtake_job *job)
{
	struct overtake_device *device = overtake_job_device(job);
	u64 now_ns = overtake_clock_now(device);

	lockdep_assert_held(&device->lock);
	job->state = OVERTAKE_JOB_IN_FLIGHT;
	ovt_fw_submit(&device->fw, &job->fw, now_ns);
}

/*
 * overtake_job_start_locked - submit the job of a task, for which there is room
 *
 * It has no tag, no fence and no deadline of its own, and no call collects it.
 */
void overtake_job_start_locked(struct overtake_job *job)
{
	struct overtake_device *device = overtake_job_device(job);

	lockdep_assert_held(&device->lock);
	if (job->open_cores)
		job->fw.core = ovt_fw_place(&device->fw, job->fw.context, job->open_cores);
	overtake_job_get(job); /* the firmware's */
	trace_job_queue(job);
	overtake_job_begin_flight_locked(job);
	overtake_job_submit_locked(job);
}

static void fill_result(struct overtake_job *job, s32 status)
{
	job->result = ovt_job_result(&job->fw, job->tag, status);
	if (job->group)
		overtake_group_write_record(job->group);
	if (job->result_memory)
		memcpy(job->result_memory, &job->result, sizeof(job->result));
}

/* The result is final: writes it, delivers the job, and drops it unless WAIT collects it. */
static void ended_locked(struct overtake_job *job, s32 status)
{
	struct overtake_context *context = job->context;

	fill_result(job, status);
	trace_job_done(job);
	overtake_slices_job_done_locked(job);
	overtake_job_forget_deadline_locked(job);
	job->state = OVERTAKE_JOB_ENDED;
	overtake_job_device(job)->jobs_in_flight--;
	if (!job->task)
		overtake_user_remove_job_locked(context->client);
	overtake_deliver_job_locked(job);
	if (job->task) {
		job->end_of_task_locked(job);
	} else if (!job->collectable || context->dead) {
		overtake_job_leave_tree_locked(job);
		overtake_job_put(job);
	}
}

/* Ends a job that waits for fences; the firmware never gets it. */
void overtake_job_end_blocked_locked(struct overtake_job *job, s32 status)
{
	struct overtake_device *device = overtake_job_device(job);

	lockdep_assert_held(&device->lock);
	job->cancel_requested = true;
	job->fw.end_ns = overtake_clock_now(device);
	ovt_fw_unreserve(&device->fw, 2);
	ended_locked(job, status);
}

/* The fences of a BLOCKED job were signalled, or one failed. */
void overtake_job_unblock_locked(struct overtake_job *job)
{
	struct overtake_device *device = overtake_job_device(job);
	int error = READ_ONCE(job->syncs.error);

	/* The ban, or the end of the context, may not have reached the job yet. */
	if (!error && job->context->banned)
		error = -ESHUTDOWN;
	if (!error && job->context->dead)
		error = device->gone ? -ENODEV : -ECANCELED;
	if (error)
		overtake_job_cancel_locked(job, error, overtake_clock_now(device));
	else if (job->state == OVERTAKE_JOB_BLOCKED)
		overtake_job_submit_locked(job);
}

/*
 * overtake_job_cancel_locked - make a job end without starting further FCs
 * @status: status with which it ends, unless it ends otherwise first
 * @now_ns: device time
 *
 * The first call for a job counts; later calls do nothing.  The caller kicks the host.
 */
void overtake_job_cancel_locked(struct overtake_job *job, s32 status, u64 now_ns)
{
	struct overtake_device *device = overtake_job_device(job);

	lockdep_assert_held(&device->lock);
	overtake_job_forget_deadline_locked(job);
	if (job->cancel_requested || job->state == OVERTAKE_JOB_ENDED)
		return;
	job->cancel_requested = true;
	job->cancel_status = status;
	if (job->state == OVERTAKE_JOB_NEW)
		return; /* its submitter sees the request before it submits the job */
	if (job->state == OVERTAKE_JOB_BLOCKED) {
		overtake_job_end_blocked_locked(job, status);
		return;
	}
	overtake_job_get(job); /* the CANCEL command's */
	device->cancels++;
	ovt_fw_cancel(&device->fw, &job->fw, now_ns);
	/* An FC of it that runs may end normally, but only within the grace time. */
	ovt_fw_stop(&device->fw, &job->fw, ktime_get_ns() + device->settings.stop_grace_ns);
}

/*
 * overtake_jobs_cancel_some_locked - cancel jobs of @context, in the order of their tags
 * @tag: first tag to look at, 0 in the first call; the call updates it for the next one
 * @only_blocked: cancel only jobs that the firmware does not have
 *
 * It looks at CANCELLED_AT_ONCE jobs in one hold of the lock.  Returns true if there may be more.
 */
bool overtake_jobs_cancel_some_locked(struct overtake_context *context, u64 *tag, s32 status,
				      bool only_blocked)
{
	struct overtake_device *device = context->client->device;
	u64 now_ns = overtake_clock_now(device);
	u32 left = CANCELLED_AT_ONCE;
	struct overtake_job *job;

	lockdep_assert_held(&device->lock);
	while (left-- && (job = overtake_job_find_from_locked(context, *tag))) {
		bool is_last = job->tag == U64_MAX;

		*tag = job->tag + 1;
		/* The job may leave the tree. */
		if (!only_blocked || job->state == OVERTAKE_JOB_NEW ||
		    job->state == OVERTAKE_JOB_BLOCKED)
			overtake_job_cancel_locked(job, status, now_ns);
		if (is_last)
			return false;
	}
	return left == U32_MAX;
}

/*
 * overtake_jobs_unblock_locked - submit or end at most @count jobs whose fences were signalled
 *
 * Returns true if there are more.
 */
bool overtake_jobs_unblock_locked(struct overtake_device *device, u32 count)
{
	struct overtake_job *job;

	while (count--) {
		job = overtake_unblocked_take_locked(device);
		if (!job)
			return false;
		overtake_job_unblock_locked(job);
		overtake_job_put(job);
	}
	return overtake_unblocked_any(device);
}

/* For a caller that has a reference and no lock. */
void overtake_job_cancel(struct overtake_job *job)
{
	struct overtake_device *device = overtake_job_device(job);
	unsigned long flags;

	flags = overtake_lock_irqsave(device);
	overtake_job_cancel_locked(job, -ECANCELED, overtake_clock_now(device));
	overtake_unlock_irqrestore(device, flags);
	overtake_host_kick(device);
}

/* Cancels a job by its tag; -ENOENT if no such job is in flight.  For both backends. */
int overtake_job_cancel_tag(struct overtake_client *client,
			    const struct drm_overtake_cancel *args)
{
	struct overtake_device *device = client->device;
	struct overtake_context *context;
	struct overtake_job *job;
	int ret = -ENOENT;

	if (args->pad)
		return -EINVAL;
	context = overtake_context_find(client, args->context_id);
	if (!context)
		return -ENOENT;
	overtake_lock(device);
	job = overtake_job_find_tag_locked(context, args->tag);
	if (job && job->state != OVERTAKE_JOB_ENDED && !context->dead) {
		overtake_job_cancel_locked(job, -ECANCELED, overtake_clock_now(device));
		ret = 0;
	}
	overtake_unlock(device);
	if (!ret)
		overtake_host_kick(device);
	overtake_context_put(context);
	return ret;
}

/* @job has ended in the firmware, whose reference goes to overtake_deliver_job_locked(). */
void overtake_job_ended_locked(struct overtake_job *job)
{
	struct overtake_device *device = overtake_job_device(job);

	lockdep_assert_held(&device->lock);
	if (!job->cancel_requested && !job->task)
		ovt_fw_unreserve(&device->fw, 1);
	ended_locked(job, ovt_job_error(&job->fw, job->cancel_status, device->gone));
}

int overtake_cancel_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	return overtake_job_cancel_tag(file->driver_priv, data);
}
