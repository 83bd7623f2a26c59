// SPDX-License-Identifier: GPL-2.0-only
/*
 * Replays of one system call, handed to the device together.
 *
 * DOC: one doorbell for several jobs
 *
 * io_uring plugs the task that submits three commands or more, as it does for block devices: when
 * the last of them has been issued, or when the task is about to sleep, callbacks of the plug run.
 * A replay that needs nothing but the device lock waits in its client's plug until then, or until
 * OVERTAKE_PLUGGED_MOST replays wait.  All of them are published in one hold of the lock
 * (overtake_jobs_publish()).
 *
 * A job that waits is known to its submitter alone, as before any publication.  A later command of
 * the same file that is not such a replay flushes the plug first, so the device sees the client's
 * commands in their order.  A HIGH job does not wait.
 *
 * A client's plug belongs to one task at a time; replays that another task submits meanwhile are
 * published at once.  The plug is a part of the client, so nothing is allocated.  It needs no
 * reference: it is linked only while it has a job, whose command holds the file and completes under
 * the ring's lock, which the submitter has until its plug is finished.
 *
 * The buffers of a job that waits show that the job uses them.  A thread that makes one of them
 * visible to others flushes the plug before, whatever the plug's owner does
 * (overtake_plug_flush_all()).
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

/* Completes the commands of refused jobs, which never ran, with the errors in their results. */
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

/* Publishes the jobs of @plug.  The caller passes the result to overtake_host_go_on(). */
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

/* Called by a task of the ring, which may be about to sleep. */
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

/* Adds @job.  Returns false if the plug belongs to another task, or the job cannot wait in it. */
static bool add_locked(struct overtake_plug *plug, struct overtake_job *job)
{
	lockdep_assert_held(&plug->lock);
	if (!current->plug || (plug->owner && plug->owner != current) ||
	    !overtake_job_begin_private_uses(job))
		return false;
	if (!plug->owner) {
		WRITE_ONCE(plug->owner, current);
		/* Ahead of callbacks that sleep. */
		list_add(&plug->callback.list, &current->plug->cb_list);
	}
	plug->jobs[plug->count++] = job;
	return true;
}

/*
 * overtake_plug_add - keep a replay until the plug is flushed
 *
 * Returns true if the plug has taken the job with the submitter's reference: the job's command is
 * then completed in any case.  False: the caller publishes the job.
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

/* Flushes the plug of @client, whichever task owns it. */
void overtake_plug_flush_all(struct overtake_client *client)
{
	bool more;

	spin_lock(&client->plug.lock);
	more = flush_locked(&client->plug);
	spin_unlock(&client->plug.lock);
	overtake_host_go_on(client->device, more);
}

/* Flushes the replays that the calling task has submitted: they precede its next command. */
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
