// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fences of jobs, and of buffers that jobs use.
 *
 * A job's own fence has a context of its own, since jobs end in any order (priorities, cores,
 * cancels).  In a reservation object such fences would pile up, one for each job in flight, and
 * each submission looks at all of them.  So what a buffer's reservation object gets is another
 * fence: of the buffer's readers or of its writers, numbered in the order of submission.  Number n
 * is signalled when all of the first n jobs have ended, so each stands for its predecessors, and
 * the reservation object keeps one of either kind, however many jobs there are.  Whoever waits for
 * a buffer waits for all of its users so far, and the last number says just that.
 *
 * The list of uses holds no reference to their fences.  What ended behind a job that has not is
 * kept by whoever still has its fence, and its memory by whoever was charged for it; once nobody
 * has, it leaves the list by itself.  So a job that takes long does not make those behind it pile
 * up.
 *
 * Each of these jobs has a deadline, so the fence is signalled in bounded time; it is not held up
 * by jobs that come later.
 */
#include <linux/delay.h>
#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/module.h>
#include <linux/slab.h>

#include <drm/drm_gem.h>

#include "compat.h"
#include "overtake_drv.h"
#include "overtake_fence.h"

/* So many uses are signalled under their lock, with interrupts off. */
#define SIGNALLED_AT_ONCE	32u

/* Fences that there are, of all devices. */
static atomic_long_t fence_count = ATOMIC_LONG_INIT(0);

long overtake_fence_count(void)
{
	return atomic_long_read(&fence_count);
}

static const char *fence_driver_name(struct dma_fence *fence)
{
	return "overtake";
}

static const char *job_timeline_name(struct dma_fence *fence)
{
	return "job";
}

static const char *use_timeline_name(struct dma_fence *fence)
{
	return "buffer";
}

/*
 * A fence may outlive every file of the device: in a sync_file, or in the reservation object of a
 * buffer that another driver holds.  So it holds the module, for its names and for this function.
 */
static void fence_release(struct dma_fence *fence)
{
	dma_fence_free(fence);
	atomic_long_dec(&fence_count);
	module_put(THIS_MODULE);
}

/*
 * Leaves the list, if it has not been signalled: nobody wants to know any more.  Without a
 * reference nobody else takes it off, and overtake_users_fini() waits for it.
 */
static void use_fence_release(struct dma_fence *fence)
{
	struct overtake_use *use = container_of(fence, struct overtake_use, fence.base);
	unsigned long flags;

	if (!list_empty(&use->link)) {
		spin_lock_irqsave(&use->users->lock, flags);
		list_del(&use->link);
		spin_unlock_irqrestore(&use->users->lock, flags);
	}
	fence_release(fence);
}

static const struct dma_fence_ops job_fence_ops = {
	.get_driver_name = fence_driver_name,
	.get_timeline_name = job_timeline_name,
	.release = fence_release,
};

static const struct dma_fence_ops use_fence_ops = {
	.get_driver_name = fence_driver_name,
	.get_timeline_name = use_timeline_name,
	.release = use_fence_release,
};

/* Whether @fence belongs to a job of @device. */
bool overtake_fence_is_of(const struct dma_fence *fence, const struct overtake_device *device)
{
	const void *ops = overtake_fence_ops(fence);

	return (ops == &job_fence_ops || ops == &use_fence_ops) &&
	       container_of(fence, struct overtake_fence, base)->device == device;
}

/* The caller's file holds the module, too. */
static void fence_init(struct overtake_fence *fence, const struct dma_fence_ops *ops, u64 context,
		       u64 seqno)
{
	BUILD_BUG_ON(offsetof(struct overtake_fence, base));
	__module_get(THIS_MODULE);
	atomic_long_inc(&fence_count);
	dma_fence_init(&fence->base, ops, &fence->lock, context, seqno);
}

/* A job's fence, or NULL. */
struct dma_fence *overtake_fence_create(const struct overtake_device *device)
{
	struct overtake_fence *fence = kzalloc(sizeof(*fence), GFP_KERNEL_ACCOUNT);

	if (!fence)
		return NULL;
	spin_lock_init(&fence->lock);
	fence->device = device;
	fence_init(fence, &job_fence_ops, dma_fence_context_alloc(1), 1);
	return &fence->base;
}

void overtake_users_init(struct overtake_users *users)
{
	users->context = dma_fence_context_alloc(1);
	spin_lock_init(&users->lock);
	INIT_LIST_HEAD(&users->uses);
}

/*
 * No job uses the buffer any more, so all uses have been signalled.  A fence that loses its last
 * reference on another CPU may still be about to leave the list.
 */
void overtake_users_fini(struct overtake_users *users)
{
	bool empty;

	might_sleep();
	for (;;) {
		spin_lock_irq(&users->lock);
		empty = list_empty(&users->uses);
		spin_unlock_irq(&users->lock);
		if (empty)
			return;
		usleep_range(10, 100);
	}
}

/* So that overtake_use_begin() need not allocate. */
struct overtake_use *overtake_use_alloc(const struct overtake_device *device)
{
	struct overtake_use *use = kzalloc(sizeof(*use), GFP_KERNEL_ACCOUNT);

	BUILD_BUG_ON(offsetof(struct overtake_use, fence));
	if (!use)
		return NULL;
	spin_lock_init(&use->fence.lock);
	use->fence.device = device;
	return use;
}

/* The job's reference, or memory that was never used.  NULL does nothing. */
void overtake_use_free(struct overtake_use *use)
{
	if (use && use->users)
		dma_fence_put(&use->fence.base);
	else
		kfree(use);
}

/*
 * overtake_use_begin - from now on, and until overtake_use_end(), a job uses @object
 *
 * The reservation object is locked and has a slot reserved.  Nothing fails.
 */
void overtake_use_begin(struct overtake_use *use, struct drm_gem_object *object, bool write)
{
	struct overtake_bo *bo = overtake_bo_of(object);
	struct overtake_users *users = write ? &bo->writers : &bo->readers;

	dma_resv_assert_held(object->resv);
	use->users = users;
	fence_init(&use->fence, &use_fence_ops, users->context, ++users->seqno);
	spin_lock_irq(&users->lock);
	list_add_tail(&use->link, &users->uses);
	spin_unlock_irq(&users->lock);
	dma_resv_add_fence(object->resv, &use->fence.base,
			   write ? DMA_RESV_USAGE_WRITE : DMA_RESV_USAGE_READ);
}

/* Signals the oldest uses if their jobs have ended; true if there may be more of them. */
static bool signal_oldest(struct overtake_users *users)
{
	u32 left = SIGNALLED_AT_ONCE;
	struct overtake_use *oldest, *next;
	unsigned long flags;

	spin_lock_irqsave(&users->lock, flags);
	list_for_each_entry_safe(oldest, next, &users->uses, link) {
		if (!oldest->ended || !left--)
			break;
		if (!kref_get_unless_zero(&oldest->fence.base.refcount))
			continue; /* it is leaving by itself */
		list_del_init(&oldest->link);
		dma_fence_signal(&oldest->fence.base);
		dma_fence_put(&oldest->fence.base);
	}
	spin_unlock_irqrestore(&users->lock, flags);
	return left == U32_MAX;
}

/*
 * overtake_use_end - the job has ended, with @status; signals whatever that completes
 *
 * Signals with the lock held, so that they come in the order of their numbers, and so that none
 * that another CPU has taken off the list is still to be signalled when this returns.  The caller's
 * job holds the buffer.  Any context; device->lock is not held, as callbacks may take it.
 */
void overtake_use_end(struct overtake_use *use, s32 status)
{
	struct overtake_users *users = use->users;
	unsigned long flags;

	if (status)
		dma_fence_set_error(&use->fence.base, status);
	spin_lock_irqsave(&users->lock, flags);
	use->ended = true;
	spin_unlock_irqrestore(&users->lock, flags);
	while (signal_oldest(users))
		;
}
