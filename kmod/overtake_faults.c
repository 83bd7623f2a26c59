// SPDX-License-Identifier: GPL-2.0-only
/*
 * Contexts whose jobs do harm, again and again.
 *
 * The firmware has the rule for harm, and for too much of it (fw/ban.h).  The limit is ban_offences
 * jobs that ended by their own fault, or ban_core_ms of core time lost to such jobs and to jobs
 * that had to be stopped, within ban_window_ms of device time from the first of them.  Then the
 * context is banned: its jobs in flight end with -ESHUTDOWN without a further FC, and each
 * submission fails with it.  Its client can still collect jobs, and destroy it.  Other contexts,
 * also of the same file, are not affected.  No context is exempt: a right to priority 255 means
 * urgent work, not work free of faults.
 *
 * The time that a core has lost is the FC's device time or the CPU time of the core's thread,
 * whichever is longer: in the timed modes a hung FC of a second may take the host a moment, or a
 * minute.  The window is device time, in which the ends of FCs are ordered; except with the manual
 * clock it is no more than 100 ms behind the host's.
 */
#include "overtake_client.h"
#include "overtake_clock.h"
#include "overtake_faults.h"
#include "overtake_host.h"
#include "overtake_job.h"
#include "overtake_lock.h"
#include "overtake_service.h"
#include "overtake_workqueues.h"

/* Cancels some jobs of @context.  Returns true if there are more. */
static bool cancel_some_jobs(struct overtake_context *context, u64 *tag)
{
	struct overtake_device *device = context->client->device;
	bool more;

	overtake_lock(device);
	more = overtake_jobs_cancel_some_locked(context, tag, -ESHUTDOWN, false);
	overtake_unlock(device);
	return more;
}

/* Cancels some tasks of @context; @left: tasks to be looked at, counted in the first call. */
static bool cancel_some_tasks(struct overtake_context *context, u32 *left, bool *found)
{
	struct overtake_device *device = context->client->device;
	bool more;

	overtake_lock(device);
	if (*left == U32_MAX)
		*left = overtake_service_live_locked(context);
	more = overtake_service_cancel_some_locked(context, left, found);
	overtake_unlock(device);
	return more;
}

/* Makes a round over all tasks.  Returns false if there was no task to cancel. */
static bool cancel_tasks(struct overtake_context *context)
{
	u32 left = U32_MAX;
	bool found = false;

	while (cancel_some_tasks(context, &left, &found))
		overtake_host_kick(context->client->device);
	return found;
}

static void ban_work(struct work_struct *work)
{
	struct overtake_context *context = container_of(work, struct overtake_context, ban_work);
	struct overtake_device *device = context->client->device;
	u64 tag = 0;

	while (cancel_some_jobs(context, &tag))
		overtake_host_kick(device);
	while (context->tasks && cancel_tasks(context))
		;
	overtake_host_kick(device);
	/* Only now: a process that sees the count also sees the effects of the ban. */
	overtake_lock(device);
	device->bans++;
	overtake_unlock(device);
	overtake_context_put(context);
}

void overtake_offence_init(struct overtake_context *context)
{
	INIT_WORK(&context->ban_work, ban_work);
}

/*
 * overtake_offence_locked - an FC of @job ended with @fault
 * @lost_ns: time for which a core was busy with it
 *
 * A job is one offence, however many of its parts have faults; the lost time of each part counts.
 * Called under the device lock.
 */
void overtake_offence_locked(struct overtake_job *job, u32 fault, u64 lost_ns, u64 now_ns)
{
	struct overtake_context *context = job->context;
	struct overtake_device *device = context->client->device;

	lockdep_assert_held(&device->lock);
	if (ovt_ban_is_offence(fault)) {
		if (job->is_offence)
			fault = OVERTAKE_FAULT_STOPPED;
		job->is_offence = true;
	}
	if (context->banned ||
	    !ovt_ban_note(&context->harm, &device->settings.ban, fault, lost_ns, now_ns))
		return;
	context->banned = true;
	kref_get(&context->ref); /* the work item's */
	queue_work(overtake_workqueue, &context->ban_work);
}
