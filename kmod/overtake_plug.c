// SPDX-License-Identifier: GPL-2.0-only
/*
 * Replays of one system call, handed to the device together.
 *
 * DOC: one doorbell for several jobs
 *
 * io_uring plugs the task that submits three commands or more, as it does for block devices: when
 * the last of them has been issued, or when the task is about to sleep, callbacks of the plug run.
 * A replay that needs nothing but the device lock waits in its client's plug until then, or until
 * there are PLUGGED_MOST, and all of them are published in one hold (overtake_jobs_publish()).
 *
 * A job that waits is known to its submitter alone, as before any publication.  A later command of
 * the same file that is not such a replay flushes the plug first, so the device sees the client's
 * commands in their order.  A HIGH job does not wait.
 *
 * A client's plug belongs to one task at a time; what another task submits meanwhile is published
 * at once.  The plug is a part of the client, so nothing is allocated.  It needs no reference: it
 * is linked together with a job, whose command holds the file and completes under the ring's lock,
 * which the submitter has until its plug is finished.
 *
 * The buffers of a job that waits show that it uses them.  A thread that makes one of them visible
 * to others flushes the plug before, whatever its owner does (overtake_plug_flush_all()).
 */
#include <linux/blkdev.h>
#include <linux/sched.h>

#include <drm/drm_drv.h>

#include "overtake_host.h"
#include "overtake_job.h"
#include "overtake_job_memory.h"
#include "overtake_plug.h"
#include "overtake_sync.h"

#ifdef CONFIG_BLOCK

/* Their commands end with what is in their results.  They never ran. */
static void complete_refused(struct overtake_plug *plug, u32 refused)
{
	struct overtake_ended_commands ended = { NULL };
	u32 i;

	for (i = 0; i < plug->count; i++) {
		struct overtake_job *job = plug->jobs[i];
		struct io_uring_cmd *command;

		if (!(refused & BIT(i)))
			continue;
		command = xchg(&job->command, NULL);
		if (command)
			job->end_command(command, &ended);
	}
	if (ended.first)
		ended.complete(&ended);
}

/* Its result is for overtake_host_go_on(). */
static bool flush_locked(struct overtake_plug *plug)
{
	struct drm_device *drm;
	bool more = false;
	u32 refused;
	int index;
	u32 i;

	lockdep_assert_held(&plug->lock);
	if (!plug->count)
		return false;
	drm = &overtake_job_device(plug->jobs[0])->drm;
	if (drm_dev_enter(drm, &index)) {
		refused = overtake_jobs_publish(plug->jobs, plug->count, &more);
		drm_dev_exit(index);
	} else {
		refused = overtake_jobs_refuse(plug->jobs, plug->count, -ENODEV);
	}
	complete_refused(plug, refused);
	for (i = 0; i < plug->count; i++)
		overtake_job_put(plug->jobs[i]); /* the submitter's */
	plug->count = 0;
	return more;
}

/* By a task of the ring, which may be about to sleep. */
static void unplug(struct blk_plug_cb *callback, bool from_schedule)
{
	struct overtake_plug *plug = container_of(callback, struct overtake_plug, callback);
	struct overtake_client *client = container_of(plug, struct overtake_client, plug);
	bool more;

	spin_lock(&plug->lock);
	more = flush_locked(plug);
	WRITE_ONCE(plug->owner, NULL);
	spin_unlock(&plug->lock);
	overtake_host_go_on(client->device, more);
}

/* False: it is not the caller's, or the job cannot wait in it. */
static bool add_locked(struct overtake_plug *plug, struct overtake_job *job)
{
	lockdep_assert_held(&plug->lock);
	if (!current->plug || (plug->owner && plug->owner != current) ||
	    !overtake_job_begin_private_uses(job))
		return false;
	if (!plug->owner) {
		WRITE_ONCE(plug->owner, current);
		/* Ahead of any that sleeps. */
		list_add(&plug->callback.list, &current->plug->cb_list);
	}
	plug->jobs[plug->count++] = job;
	return true;
}

/*
 * overtake_plug_add - keep a replay until the plug is flushed
 *
 * True, and the plug has the submitter's reference; its command is completed whatever becomes of
 * it.  False: the caller publishes it.
 */
bool overtake_plug_add(struct overtake_job *job)
{
	struct overtake_client *client = job->context->client;
	struct overtake_plug *plug = &client->plug;
	bool more = false;
	bool added;

	if (job->fw.priority == OVT_PRIORITY_HIGH || job->core_answer || overtake_syncs_any(job))
		return false;
	spin_lock(&plug->lock);
	added = add_locked(plug, job);
	if (plug->count == OVERTAKE_PLUGGED_MOST)
		more = flush_locked(plug);
	spin_unlock(&plug->lock);
	overtake_host_go_on(client->device, more);
	return added;
}

/* Whatever task submits them. */
void overtake_plug_flush_all(struct overtake_client *client)
{
	bool more;

	spin_lock(&client->plug.lock);
	more = flush_locked(&client->plug);
	spin_unlock(&client->plug.lock);
	overtake_host_go_on(client->device, more);
}

/* Something else of @client comes, and what the task that calls has submitted goes first. */
void overtake_plug_flush(struct overtake_client *client)
{
	if (READ_ONCE(client->plug.owner) == current)
		overtake_plug_flush_all(client);
}

void overtake_plug_init_client(struct overtake_client *client)
{
	client->plug.callback.callback = unplug;
	spin_lock_init(&client->plug.lock);
}

#else

bool overtake_plug_add(struct overtake_job *job)
{
	return false;
}

void overtake_plug_flush_all(struct overtake_client *client)
{
}

void overtake_plug_flush(struct overtake_client *client)
{
}

void overtake_plug_init_client(struct overtake_client *client)
{
}

#endif
