// SPDX-License-Identifier: GPL-2.0-only
/*
 * Notification of clients: fences, completions, wake-ups.
 *
 * DOC: each client pays for its own notifications
 *
 * The waiters of a notification determine its cost: a fence runs the callbacks of all its waiters,
 * and a wake-up walks a whole wait queue with interrupts off.  One client may have a hundred
 * thousand callbacks or waiters.  So no client's notifications wait for another client's:
 *
 *	deliver_work	one work item of each client: signals the fences of its ended jobs and
 *			completes its io_uring commands, HIGH jobs first, DELIVERED_AT_ONCE jobs
 *			for each hold of the device lock
 *	wake_work	a second work item: wakes threads that sleep in the client's ioctls
 *			although no job of theirs is delivered
 *	poll_work	a third work item: wakes pollers of the file.  No fence and no completion
 *			waits for it
 *
 * Work items of clients that may use priority 255 are on a work queue of their own, whose threads
 * the scheduler prefers.
 *
 * DOC: poll()
 *
 * Pollers are woken on the edge: when a context that had no ended job to collect has one, or a
 * queue of tasks that had no event has one.  They are woken once for all that comes until the work
 * item runs.  Pollers of a file are spread at random over OVERTAKE_POLL_QUEUES wait queues, and the
 * work item yields the CPU between two of them, so that interrupts are off for a fraction of the
 * pollers at a time.  After a wake-up the work item pauses for PAUSE_FACTOR times the CPU time of
 * the wake-up, at most PAUSE_MAX_NS.  So the wake-ups of a file take at most a tenth of one CPU, up
 * to that maximum, and only the file's own pollers wait.
 *
 * DOC: end of a job
 *
 * A job ends under the device lock (overtake_job.c).  It can be collected once it is delivered: its
 * fence is signalled, its command completed, and other devices have its imports back.  So WAIT
 * waits only in context->wait, and signals interrupt it.
 */
#include <linux/dma-fence.h>
#include <linux/poll.h>
#include <linux/random.h>
#include <linux/sched.h>

#include "overtake_client.h"
#include "overtake_deliver.h"
#include "overtake_fence.h"
#include "overtake_job.h"
#include "overtake_job_memory.h"
#include "overtake_job_tree.h"
#include "overtake_lock.h"
#include "overtake_sync.h"
#include "overtake_workqueues.h"

#define DELIVERED_AT_ONCE	32u
#define WOKEN_AT_ONCE		32u
/* Part of DELIVERED_AT_ONCE that is kept for NORMAL jobs, however many HIGH jobs there are. */
#define NORMAL_AT_LEAST		8u
#define PAUSE_FACTOR		9u
#define PAUSE_MAX_NS		((u64)NSEC_PER_SEC)

static struct workqueue_struct *queue_of(const struct overtake_client *client)
{
	return client->is_privileged ? overtake_high_workqueue : overtake_workqueue;
}

/* Returns the whole jiffies until the client's pollers may be woken; the rest adds up. */
static unsigned long pause_of(const struct overtake_client *client)
{
	u64 now_ns = ktime_get_ns();

	lockdep_assert_held(&client->device->lock);
	return client->polls_from_ns > now_ns ?
	       nsecs_to_jiffies(client->polls_from_ns - now_ns) : 0;
}

/* Queues @work.  The client is held by the job or the open file that makes the work necessary. */
static void queue_for(struct overtake_client *client, struct work_struct *work)
{
	lockdep_assert_held(&client->device->lock);
	overtake_client_get(client); /* the work item's */
	if (!queue_work(queue_of(client), work))
		overtake_client_put(client); /* it has one already, so this is not the last */
}

/* A job has ended, and its client is to be notified.  The firmware's reference goes along. */
void overtake_deliver_job_locked(struct overtake_job *job)
{
	struct overtake_client *client = job->context->client;
	u32 ring = job->fw.priority == OVT_PRIORITY_HIGH ? OVT_RING_HIGH : OVT_RING_NORMAL;

	lockdep_assert_held(&client->device->lock);
	client->device->undelivered++;
	list_add_tail(&job->batch_link, &client->ended[ring]);
	queue_for(client, &client->deliver_work);
}

/* Makes threads that sleep in ioctls of @context look again. */
void overtake_deliver_wake_locked(struct overtake_context *context)
{
	struct overtake_client *client = context->client;

	lockdep_assert_held(&client->device->lock);
	if (!list_empty(&context->wake_link))
		return;
	overtake_context_get(context);
	list_add_tail(&context->wake_link, &client->to_wake);
	queue_for(client, &client->wake_work);
}

/* The file has become readable. */
void overtake_deliver_readable_locked(struct overtake_client *client)
{
	lockdep_assert_held(&client->device->lock);
	overtake_client_get(client); /* the work item's */
	if (!queue_delayed_work(queue_of(client), &client->poll_work, pause_of(client)))
		overtake_client_put(client); /* it has one already, so this is not the last */
}

/* Whether all jobs that ended are delivered. */
bool overtake_delivered_locked(const struct overtake_device *device)
{
	lockdep_assert_held(&device->lock);
	return !device->undelivered;
}

static u32 move_some(struct list_head *from, struct list_head *batch, u32 count)
{
	u32 moved;

	for (moved = 0; moved < count && !list_empty(from); moved++)
		list_move_tail(from->next, batch);
	return moved;
}

/* Takes HIGH jobs, then NORMAL ones, each oldest first.  Returns false if there are none. */
static bool take_batch(struct overtake_client *client, struct list_head *batch)
{
	struct list_head *normal = &client->ended[OVT_RING_NORMAL];
	u32 kept = 0, moved;

	overtake_lock(client->device);
	if (!list_empty(normal))
		kept = NORMAL_AT_LEAST;
	moved = move_some(&client->ended[OVT_RING_HIGH], batch, DELIVERED_AT_ONCE - kept);
	moved += move_some(normal, batch, DELIVERED_AT_ONCE - moved);
	overtake_unlock(client->device);
	return moved;
}

/* A job of @context is delivered: its fence is signalled, its command completed. */
static void count_delivered_locked(struct overtake_context *context)
{
	lockdep_assert_held(&context->client->device->lock);
	context->client->device->undelivered--;
	context->undelivered--;
}

/* @job is delivered: it can be collected, or is forgotten. */
static void finish_locked(struct overtake_job *job)
{
	struct overtake_context *context = job->context;
	struct overtake_client *client = context->client;

	count_delivered_locked(context);
	if (!job->in_tree)
		return;
	if (context->dead) {
		overtake_job_leave_tree_locked(job);
		overtake_job_put(job);
		return;
	}
	/* Not client->ended_count: dead contexts may still have jobs in it. */
	if (list_empty(&context->ended))
		overtake_deliver_readable_locked(client);
	list_add_tail(&job->collect_link, &context->ended);
	client->ended_count++;
}

/*
 * Drops the firmware's reference to @job, which WAIT does not collect, and then lets its command,
 * which has a reference of its own, be completed.  In this order, the instance of a recording is
 * idle when its client reads of its end.
 */
static void complete_job(struct overtake_job *job, struct overtake_ended_commands *ended)
{
	struct io_uring_cmd *command = xchg(&job->command, NULL);
	void (*end_command)(struct io_uring_cmd *command,
			    struct overtake_ended_commands *ended) = job->end_command;

	list_del_init(&job->batch_link);
	overtake_job_put(job);
	if (command)
		end_command(command, ended);
}

static void wake_waiters(struct overtake_context *context)
{
	if (wq_has_sleeper(&context->wait))
		wake_up_all(&context->wait);
}

/* Drops the firmware's references to the jobs of @batch, and wakes threads in WAIT. */
static void release_batch(struct list_head *batch)
{
	struct overtake_context *woken = NULL;
	struct overtake_job *job, *next;

	list_for_each_entry_safe(job, next, batch, batch_link) {
		struct overtake_context *context = job->context;

		/* Each waiter looks at all jobs of its context: one wake-up is for all. */
		if (context != woken)
			wake_waiters(context);
		woken = context; /* compared, never followed */
		list_del_init(&job->batch_link);
		overtake_job_put(job);
	}
}

static void note_idle(struct overtake_device *device)
{
	if (wq_has_sleeper(&device->idle))
		wake_up_all(&device->idle);
}

/* Finishes the jobs of @batch, at most DELIVERED_AT_ONCE jobs of @client, which are delivered. */
static void finish_jobs(struct overtake_client *client, struct list_head *batch)
{
	struct overtake_context *contexts[DELIVERED_AT_ONCE];
	struct overtake_ended_commands ended = { NULL };
	struct overtake_job *job, *next;
	u32 count = 0;
	u32 i;

	list_for_each_entry_safe(job, next, batch, batch_link) {
		if (job->collectable)
			continue;
		contexts[count++] = job->context;
		overtake_context_get(job->context);
		complete_job(job, &ended);
	}
	if (ended.first)
		ended.complete(&ended);
	overtake_lock(client->device);
	list_for_each_entry(job, batch, batch_link)
		finish_locked(job);
	for (i = 0; i < count; i++)
		count_delivered_locked(contexts[i]);
	overtake_unlock(client->device);
	release_batch(batch);
	for (i = 0; i < count; i++) {
		wake_waiters(contexts[i]);
		overtake_context_put(contexts[i]);
	}
}

/* Finishes the jobs of @batch that are delivered. */
static void finish_batch(struct overtake_client *client, struct list_head *batch)
{
	struct overtake_job *job, *next;
	LIST_HEAD(finished);

	/*
	 * The end of CPU access delivers the other jobs, and drops the reference.  That may happen
	 * at once, so a job is in no list when its part here is done.
	 */
	list_for_each_entry_safe(job, next, batch, batch_link) {
		list_del_init(&job->batch_link);
		if (atomic_dec_and_test(&job->parts_left))
			list_add_tail(&job->batch_link, &finished);
	}
	finish_jobs(client, &finished);
}

/* CPU access of @job to its imports has ended.  It is delivered if its fence is signalled, too. */
static void access_ended(struct overtake_job *job)
{
	struct overtake_client *client = job->context->client;
	struct overtake_device *device = client->device;
	LIST_HEAD(finished);

	if (!atomic_dec_and_test(&job->parts_left))
		return;
	overtake_client_get(client);
	list_add_tail(&job->batch_link, &finished);
	finish_jobs(client, &finished);
	note_idle(device);
	overtake_client_put(client);
}

static void end_access_work(struct work_struct *work)
{
	struct overtake_job *job = container_of(work, struct overtake_job, access_work);

	overtake_job_end_access(job);
	/* Not the last reference: the firmware's remains until the job is delivered. */
	overtake_job_put(job);
	access_ended(job);
}

/*
 * The job has ended: other devices get its imports back.
 *
 * Exporters sleep there, take locks and allocate, so the thread that signals the fence does
 * not do it: the fence may be signalled first.  The job is delivered when both are done.
 */
static void end_access_soon(struct overtake_job *job)
{
	if (!job->accessed)
		return;
	overtake_job_get(job); /* the work item's */
	INIT_WORK(&job->access_work, end_access_work);
	queue_work(overtake_free_workqueue, &job->access_work);
}

/* Signals the fences of @job, outside all locks. */
static void notify(struct overtake_job *job)
{
	u32 i;

	overtake_syncs_disarm(job);
	atomic_set(&job->parts_left, job->accessed ? 2 : 1);
	end_access_soon(job); /* so it is queued when the fence is signalled */
	for (i = 0; i < job->object_count; i++)
		overtake_use_end(&job->uses[i], job->objects[i], job->object_written[i],
				 job->result.status);
	if (job->fence) {
		if (job->result.status)
			dma_fence_set_error(job->fence, job->result.status);
		dma_fence_signal(job->fence);
	}
}

static void deliver_work(struct work_struct *work)
{
	struct overtake_client *client = container_of(work, struct overtake_client, deliver_work);
	struct overtake_job *job;
	LIST_HEAD(batch);

	while (take_batch(client, &batch)) {
		bool signalling = dma_fence_begin_signalling();

		list_for_each_entry(job, &batch, batch_link)
			notify(job);
		finish_batch(client, &batch);
		dma_fence_end_signalling(signalling);
		cond_resched();
	}
	note_idle(client->device);
	overtake_client_put(client);
}

/* Wake-ups */

static bool take_wakes(struct overtake_client *client, struct list_head *contexts)
{
	bool taken;

	overtake_lock(client->device);
	taken = move_some(&client->to_wake, contexts, WOKEN_AT_ONCE);
	overtake_unlock(client->device);
	return taken;
}

static void wake_contexts(struct overtake_client *client, struct list_head *contexts)
{
	struct overtake_context *context;

	while (!list_empty(contexts)) {
		context = list_first_entry(contexts, struct overtake_context, wake_link);
		overtake_lock(client->device);
		list_del_init(&context->wake_link); /* from here on it may be listed again */
		overtake_unlock(client->device);
		wake_up_all(&context->wait);
		overtake_context_put(context);
	}
}

static void wake_work(struct work_struct *work)
{
	struct overtake_client *client = container_of(work, struct overtake_client, wake_work);
	LIST_HEAD(contexts);

	while (take_wakes(client, &contexts))
		wake_contexts(client, &contexts);
	overtake_client_put(client);
}

/* Returns true if the wake-up is put off, since the pause after the last one is not over. */
static bool put_off(struct overtake_client *client)
{
	unsigned long pause;
	bool queued;

	overtake_lock(client->device);
	pause = pause_of(client);
	queued = pause && queue_delayed_work(queue_of(client), &client->poll_work, pause);
	overtake_unlock(client->device);
	return queued;
}

static void poll_work(struct work_struct *work)
{
	struct overtake_client *client =
		container_of(to_delayed_work(work), struct overtake_client, poll_work);
	u64 begin_ns, took_ns;
	u32 i;

	if (put_off(client))
		return; /* with the reference */
	begin_ns = current->se.sum_exec_runtime;
	for (i = 0; i < OVERTAKE_POLL_QUEUES; i++) {
		if (wq_has_sleeper(&client->pollers[i]))
			wake_up_interruptible_poll(&client->pollers[i], EPOLLIN | EPOLLRDNORM);
		cond_resched();
	}
	took_ns = current->se.sum_exec_runtime - begin_ns;
	overtake_lock(client->device);
	client->polls_from_ns = max(client->polls_from_ns, ktime_get_ns()) +
				min(PAUSE_FACTOR * took_ns, PAUSE_MAX_NS);
	overtake_unlock(client->device);
	overtake_client_put(client);
}

/* The file is closed, and its contexts are dead: it becomes readable no more.  May sleep. */
void overtake_deliver_stop_polls(struct overtake_client *client)
{
	if (cancel_delayed_work_sync(&client->poll_work))
		overtake_client_put(client);
}

/* The device goes away: poll() reports a hang-up. */
void overtake_deliver_removal(struct overtake_device *device)
{
	struct overtake_client *client;
	struct drm_file *file;
	u32 i;

	mutex_lock(&device->drm.filelist_mutex);
	list_for_each_entry(file, &device->drm.filelist, lhead) {
		client = file->driver_priv;
		for (i = 0; i < OVERTAKE_POLL_QUEUES; i++)
			wake_up_all(&client->pollers[i]);
		cond_resched();
	}
	mutex_unlock(&device->drm.filelist_mutex);
}

void overtake_deliver_poll_wait(struct overtake_client *client, struct file *filp,
				struct poll_table_struct *table)
{
	poll_wait(filp, &client->pollers[get_random_u32_below(OVERTAKE_POLL_QUEUES)], table);
}

void overtake_deliver_init_client(struct overtake_client *client)
{
	u32 i;

	for (i = 0; i < OVT_RING_COUNT; i++)
		INIT_LIST_HEAD(&client->ended[i]);
	INIT_LIST_HEAD(&client->to_wake);
	INIT_WORK(&client->deliver_work, deliver_work);
	INIT_WORK(&client->wake_work, wake_work);
	INIT_DELAYED_WORK(&client->poll_work, poll_work);
	for (i = 0; i < OVERTAKE_POLL_QUEUES; i++)
		init_waitqueue_head(&client->pollers[i]);
}
