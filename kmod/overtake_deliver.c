// SPDX-License-Identifier: GPL-2.0-only
/*
 * Telling clients what has ended: fences, completions, wake-ups.
 *
 * What one end costs is its waiters' business: the callbacks of whoever waits for a fence, a
 * completion's task work.  So it is not paid in the interrupt, or by whichever client happens to
 * look at the device next, but by a thread of the device's own.  It takes DELIVERED_AT_ONCE jobs
 * off the list in one hold of the lock, and lets others have the CPU between them.
 *
 * The thread is a little in front of ordinary tasks: what it does others wait for, and it is little
 * for each of them.  It is no realtime thread, since clients decide how much there is of it.
 */
#include <linux/dma-fence.h>
#include <linux/kthread.h>
#include <linux/poll.h>
#include <linux/sched.h>

#include "overtake_ctx.h"
#include "overtake_deliver.h"
#include "overtake_job.h"
#include "overtake_service.h"

#define DELIVERED_AT_ONCE	32u
#define TOLD_AT_ONCE		32u
#define DELIVER_NICE		-5

struct told_batch {
	struct overtake_context *contexts[TOLD_AT_ONCE];
	u32 count;
};

/*
 * Moves the oldest of device->ended to @batch, and the contexts whose tasks have news to @told,
 * with their references; false if there are none.
 */
static bool take_batch(struct overtake_device *device, struct list_head *batch,
		       struct told_batch *told)
{
	struct list_head *queues = &device->service->told;
	u32 left = DELIVERED_AT_ONCE;
	bool taken;

	told->count = 0;
	spin_lock_irq(&device->lock);
	while (left-- && !list_empty(&device->ended))
		list_move_tail(device->ended.next, batch);
	while (told->count < TOLD_AT_ONCE && !list_empty(queues)) {
		struct overtake_task_queue *queue =
			list_first_entry(queues, struct overtake_task_queue, told_link);

		list_del_init(&queue->told_link);
		told->contexts[told->count++] = queue->context;
	}
	taken = !list_empty(batch) || told->count;
	device->delivering = taken;
	spin_unlock_irq(&device->lock);
	return taken;
}

static void deliver_batch(struct list_head *batch)
{
	bool signalling = dma_fence_begin_signalling();
	struct overtake_job *job, *next;

	list_for_each_entry_safe(job, next, batch, batch_link) {
		list_del_init(&job->batch_link);
		overtake_job_deliver(job);
	}
	dma_fence_end_signalling(signalling);
}

static void tell(struct told_batch *told)
{
	u32 i;

	for (i = 0; i < told->count; i++) {
		struct overtake_context *context = told->contexts[i];

		wake_up_all(&context->wait);
		wake_up_interruptible_poll(&context->client->wait, EPOLLIN | EPOLLRDNORM);
		overtake_context_put(context);
	}
}

static int deliver_thread(void *data)
{
	struct overtake_device *device = data;
	struct told_batch told;
	bool delivered = false;
	LIST_HEAD(batch);

	for (;;) {
		/* Before the look: pairs with wake_up_process(), whose wake-up must not be lost. */
		set_current_state(TASK_IDLE);
		if (take_batch(device, &batch, &told)) {
			__set_current_state(TASK_RUNNING);
			deliver_batch(&batch);
			tell(&told);
			delivered = true;
			cond_resched();
			continue;
		}
		if (delivered) {
			__set_current_state(TASK_RUNNING);
			wake_up_all(&device->idle);
			delivered = false;
			continue;
		}
		if (kthread_should_stop())
			break;
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

/* There may be jobs on device->ended, and news of tasks. */
void overtake_deliver_locked(struct overtake_device *device)
{
	lockdep_assert_held(&device->lock);
	if (device->deliverer &&
	    !(list_empty(&device->ended) && list_empty(&device->service->told)))
		wake_up_process(device->deliverer);
}

/* Everybody has been told of all that has ended. */
bool overtake_delivered_locked(const struct overtake_device *device)
{
	lockdep_assert_held(&device->lock);
	return !device->delivering && list_empty(&device->ended) &&
	       list_empty(&device->service->told);
}

int overtake_deliver_start(struct overtake_device *device)
{
	struct task_struct *thread;

	thread = kthread_create(deliver_thread, device, "overtake%u/ends", device->index);
	if (IS_ERR(thread))
		return PTR_ERR(thread);
	set_user_nice(thread, DELIVER_NICE);
	device->deliverer = thread;
	wake_up_process(thread);
	return 0;
}

/* Nothing is in flight any more. */
void overtake_deliver_stop(struct overtake_device *device)
{
	struct task_struct *thread = device->deliverer;

	spin_lock_irq(&device->lock);
	device->deliverer = NULL;
	spin_unlock_irq(&device->lock);
	if (thread)
		kthread_stop(thread);
}
