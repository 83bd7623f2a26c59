// SPDX-License-Identifier: GPL-2.0-only
/*
 * Contexts whose jobs do harm, again and again.
 *
 * An offence is a job that ends by its own fault: a bad instruction, or the watchdog.  A reset is
 * none, nor is a cancel or a kill: whose fault that was is not known.  A context with
 * ban_offences of them within ban_window_ms of device time, counted from the first, is banned:
 * what it has in flight ends with -ESHUTDOWN without a further FC, and so does every submission.
 * It can still collect, and be destroyed; other contexts, of the same file too, are not concerned.
 * Nobody is exempt: a right to priority 255 says that somebody is urgent, not that he is right.
 */
#include "overtake_faults.h"
#include "overtake_host.h"
#include "overtake_job.h"

/* Under the device lock at a time, with interrupts off. */
#define CANCELLED_AT_ONCE	64u

/* True if there are more. */
static bool cancel_some(struct overtake_context *context)
{
	struct overtake_device *device = context->client->device;
	u32 left = CANCELLED_AT_ONCE;
	struct rb_node *node, *next;
	u64 now_ns;

	spin_lock_irq(&device->lock);
	now_ns = overtake_host_now(device);
	for (node = rb_first(&context->jobs); node && left; node = next) {
		struct overtake_job *job = rb_entry(node, struct overtake_job, tag_node);

		next = rb_next(node); /* the job may leave the tree */
		if (job->cancel_requested || job->state == OVERTAKE_JOB_ENDED)
			continue;
		overtake_job_cancel_locked(job, -ESHUTDOWN, now_ns);
		left--;
	}
	spin_unlock_irq(&device->lock);
	return !left;
}

static void ban_work(struct work_struct *work)
{
	struct overtake_context *context = container_of(work, struct overtake_context, ban_work);
	struct overtake_device *device = context->client->device;

	while (cancel_some(context))
		overtake_host_kick(device);
	overtake_host_kick(device);
	/* Only now: who sees the count also sees what the ban does. */
	spin_lock_irq(&device->lock);
	device->bans++;
	spin_unlock_irq(&device->lock);
	overtake_context_put(context);
}

void overtake_offence_init(struct overtake_context *context)
{
	INIT_WORK(&context->ban_work, ban_work);
}

static bool is_offence(u32 fault)
{
	return fault != OVERTAKE_FAULT_NONE && fault != OVERTAKE_FAULT_RESET &&
	       fault != OVERTAKE_FAULT_KILLED && fault != OVERTAKE_FAULT_STOPPED;
}

/* A job of @context ended with @fault.  Under the device lock. */
void overtake_offence_locked(struct overtake_context *context, u32 fault, u64 now_ns)
{
	struct overtake_device *device = context->client->device;
	const struct overtake_settings *settings = &device->settings;

	lockdep_assert_held(&device->lock);
	if (!is_offence(fault) || !settings->ban_offences || context->banned)
		return;
	if (!context->offences || now_ns - context->offence_ns > settings->ban_window_ns) {
		context->offences = 0;
		context->offence_ns = now_ns;
	}
	if (++context->offences < settings->ban_offences)
		return;
	context->banned = true;
	kref_get(&context->ref); /* the work item's */
	queue_work(overtake_workqueue, &context->ban_work);
}
