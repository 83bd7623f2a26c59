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
 * A job that waits is known to its submitter alone, as before any publication.  What comes behind
 * it in the same file and is not such a replay flushes the plug first, so the device sees the
 * client's commands in their order.  A HIGH job does not wait.
 *
 * A client's plug belongs to one task at a time; what another task submits meanwhile is published
 * at once.  The plug is a part of the client, so nothing is allocated.  It needs no reference:
 * the commands of the jobs in it hold the file, and they complete under the ring's lock, which the
 * submitter has until its plug is finished.
 */
#include <linux/blkdev.h>
#include <linux/sched.h>

#include <drm/drm_drv.h>

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

/* By its owner, who may be about to sleep. */
static void flush(struct overtake_plug *plug)
{
	struct drm_device *drm;
	u32 refused;
	int index;
	u32 i;

	if (!plug->count)
		return;
	drm = &overtake_job_device(plug->jobs[0])->drm;
	if (drm_dev_enter(drm, &index)) {
		refused = overtake_jobs_publish(plug->jobs, plug->count);
		drm_dev_exit(index);
	} else {
		refused = overtake_jobs_refuse(plug->jobs, plug->count, -ENODEV);
	}
	complete_refused(plug, refused);
	for (i = 0; i < plug->count; i++)
		overtake_job_put(plug->jobs[i]); /* the submitter's */
	plug->count = 0;
}

static void unplug(struct blk_plug_cb *callback, bool from_schedule)
{
	struct overtake_plug *plug = container_of(callback, struct overtake_plug, callback);

	flush(plug);
	WRITE_ONCE(plug->owner, NULL);
}

/* True: @plug is in that of the task that calls. */
static bool own(struct overtake_plug *plug)
{
	if (READ_ONCE(plug->owner) == current)
		return true;
	if (!current->plug || cmpxchg(&plug->owner, NULL, current))
		return false;
	list_add_tail(&plug->callback.list, &current->plug->cb_list);
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
	struct overtake_plug *plug = &job->context->client->plug;

	if (job->fw.priority == OVT_PRIORITY_HIGH || job->core_answer || overtake_syncs_any(job) ||
	    !own(plug))
		return false;
	if (!overtake_job_begin_private_uses(job))
		return false;
	plug->jobs[plug->count++] = job;
	if (plug->count == OVERTAKE_PLUGGED_MOST)
		flush(plug);
	return true;
}

/* Something else of @client comes, and what the task that calls has submitted goes first. */
void overtake_plug_flush(struct overtake_client *client)
{
	if (READ_ONCE(client->plug.owner) == current)
		flush(&client->plug);
}

void overtake_plug_init_client(struct overtake_client *client)
{
	client->plug.callback.callback = unplug;
}

#else

bool overtake_plug_add(struct overtake_job *job)
{
	return false;
}

void overtake_plug_flush(struct overtake_client *client)
{
}

void overtake_plug_init_client(struct overtake_client *client)
{
}

#endif
