// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fences of jobs, and of buffers that jobs use.
 *
 * A job's own fence, for the syncobjs that its client names, has a context of its own, since jobs
 * end in any order (priorities, cores, cancels).  In a reservation object such fences would pile
 * up, one for each job in flight, and each submission looks at all of them.  So a buffer's
 * reservation object gets another fence: one for the buffer's readers or for its writers.  Their
 * uses are numbered as they begin.  Fence n is signalled when the first n uses have ended, so it
 * covers its predecessors, and the reservation object keeps one fence of either kind, however many
 * jobs there are.  A waiter of a buffer waits for all of its users so far: for the last fence.
 *
 * A use is a part of its job, and leaves the list of uses when the job has ended.  The list of
 * fences holds no reference to them: a fence leaves it when its last reference is dropped.  So a
 * job that takes long does not make the fences of later uses pile up.
 *
 * Each of these jobs has a deadline, so the fence is signalled in bounded time; jobs that come
 * later do not delay it.
 *
 * DOC: private buffers
 *
 * A buffer that was never exported, nor imported, is the client's own: only this driver
 * looks at its reservation object.  A replay (overtake_recording.c), which allocates nothing,
 * uses it without a fence.  When the buffer is exported after all, its reservation object gets a
 * fence for the uses that have begun; from then on each use brings one.
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

/* Greatest number of fences that are signalled in one hold of their lock, with interrupts off. */
#define SIGNALLED_AT_ONCE	32u

/* Number of existing fences of all devices. */
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
 * Takes the fence off the list if it has not been signalled, since the last reference is gone.
 * Without a reference no other code takes it off the list, and overtake_users_fini() waits for it.
 */
static void use_fence_release(struct dma_fence *fence)
{
	struct overtake_use_fence *use_fence = container_of(fence, struct overtake_use_fence,
							    fence.base);
	unsigned long flags;

	if (!list_empty(&use_fence->link)) {
		spin_lock_irqsave(&use_fence->users->lock, flags);
		list_del(&use_fence->link);
		spin_unlock_irqrestore(&use_fence->users->lock, flags);
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

/* Creates a job's fence; NULL without memory. */
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
	INIT_LIST_HEAD(&users->fences);
}

/*
 * No job uses the buffer any more, so all fences have been signalled.  One that loses its last
 * reference on another CPU may still be about to leave the list.
 */
void overtake_users_fini(struct overtake_users *users)
{
	bool empty;

	might_sleep();
	WARN_ON(!list_empty(&users->uses));
	for (;;) {
		spin_lock_irq(&users->lock);
		empty = list_empty(&users->fences);
		spin_unlock_irq(&users->lock);
		if (empty)
			return;
		usleep_range(10, 100);
	}
}

static struct overtake_use_fence *use_fence_alloc(const struct overtake_device *device)
{
	struct overtake_use_fence *use_fence = kzalloc(sizeof(*use_fence), GFP_KERNEL_ACCOUNT);

	BUILD_BUG_ON(offsetof(struct overtake_use_fence, fence));
	if (!use_fence)
		return NULL;
	spin_lock_init(&use_fence->fence.lock);
	use_fence->fence.device = device;
	return use_fence;
}

/* Drops the reference of the job or caller that allocated @use_fence, which may be NULL. */
static void use_fence_put(struct overtake_use_fence *use_fence)
{
	if (use_fence && use_fence->users)
		dma_fence_put(&use_fence->fence.base);
	else
		kfree(use_fence);
}

/* Makes @use_fence the fence of the uses that have begun. */
static void follow_locked(struct overtake_use_fence *use_fence, struct overtake_users *users)
{
	lockdep_assert_held(&users->lock);
	use_fence->users = users;
	fence_init(&use_fence->fence, &use_fence_ops, users->context, users->last);
	list_add_tail(&use_fence->link, &users->fences);
}

/* Makes @use_fence the fence of these uses, with a number that no use has. */
static void follow(struct overtake_use_fence *use_fence, struct overtake_users *users)
{
	spin_lock_irq(&users->lock);
	users->last++;
	follow_locked(use_fence, users);
	spin_unlock_irq(&users->lock);
}

/* Signals the oldest fences if their uses have ended; true if there may be more of them. */
static bool signal_oldest(struct overtake_users *users)
{
	struct overtake_use_fence *oldest, *next;
	u32 left = SIGNALLED_AT_ONCE;
	struct overtake_use *use;
	unsigned long flags;

	spin_lock_irqsave(&users->lock, flags);
	use = list_first_entry_or_null(&users->uses, struct overtake_use, link);
	list_for_each_entry_safe(oldest, next, &users->fences, link) {
		if ((use && oldest->fence.base.seqno >= use->number) || !left--)
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

static struct overtake_users *users_of(struct drm_gem_object *object, bool write)
{
	struct overtake_bo *bo = overtake_bo_of(object);

	return write ? &bo->writers : &bo->readers;
}

/*
 * Creates a fence of the uses of @object that have begun, with a reference for the caller; NULL
 * without memory.
 */
static struct dma_fence *add_fence(struct drm_gem_object *object, bool write)
{
	struct overtake_use_fence *use_fence = use_fence_alloc(to_overtake_device(object->dev));
	struct overtake_users *users = users_of(object, write);

	if (!use_fence)
		return NULL;
	follow(use_fence, users);
	while (signal_oldest(users))
		;
	return &use_fence->fence.base;
}

/*
 * overtake_users_share - the reservation object of @object is going to be seen by others
 *
 * It gets the fences of those uses that have none.  May sleep; -ENOMEM, -EINTR.
 */
int overtake_users_share(struct drm_gem_object *object)
{
	struct dma_fence *readers, *writers;
	int ret;

	ret = dma_resv_lock_interruptible(object->resv, NULL);
	if (ret)
		return ret;
	ret = dma_resv_reserve_fences(object->resv, 2);
	if (ret || overtake_bo_of(object)->is_shared)
		goto unlock;
	/* Read under the lock of the users, which follow() takes next. */
	WRITE_ONCE(overtake_bo_of(object)->is_shared, true);
	readers = add_fence(object, false);
	writers = add_fence(object, true);
	if (readers && writers) {
		dma_resv_add_fence(object->resv, readers, DMA_RESV_USAGE_READ);
		dma_resv_add_fence(object->resv, writers, DMA_RESV_USAGE_WRITE);
	} else {
		WRITE_ONCE(overtake_bo_of(object)->is_shared, false);
		ret = -ENOMEM;
	}
	dma_fence_put(readers);
	dma_fence_put(writers);
unlock:
	dma_resv_unlock(object->resv);
	return ret;
}

static long wait_for(struct drm_gem_object *object, bool write, long timeout)
{
	struct overtake_users *users = users_of(object, write);
	struct dma_fence *fence;
	long ret;

	if (list_empty_careful(&users->uses))
		return max(timeout, 1l);
	fence = add_fence(object, write);
	if (!fence)
		return -ENOMEM;
	ret = dma_fence_wait_timeout(fence, true, timeout);
	dma_fence_put(fence);
	return ret;
}

/*
 * overtake_users_wait - wait until the jobs that write @object have ended
 * @write: wait for the jobs that read it, too
 *
 * Returns the jiffies that are left of @timeout, at least 1; 0 when @timeout is over; -ERESTARTSYS;
 * -ENOMEM.
 */
long overtake_users_wait(struct drm_gem_object *object, bool write, long timeout)
{
	long left = wait_for(object, true, timeout);

	return left > 0 && write ? wait_for(object, false, timeout ? left : 0) : left;
}

/* Allocates a fence for @use, so that overtake_use_begin() need not allocate; -ENOMEM. */
int overtake_use_prepare(struct overtake_use *use, const struct overtake_device *device)
{
	use->fence = use_fence_alloc(device);
	return use->fence ? 0 : -ENOMEM;
}

/* Clears @use, which has ended or never began. */
void overtake_use_reset(struct overtake_use *use)
{
	use_fence_put(use->fence);
	*use = (struct overtake_use){ 0 };
}

static void begin_locked(struct overtake_use *use, struct overtake_users *users)
{
	lockdep_assert_held(&users->lock);
	use->number = ++users->last;
	list_add_tail(&use->link, &users->uses);
}

/*
 * overtake_use_begin - from now on, and until overtake_use_end(), a job uses @object
 *
 * The reservation object is locked and has a slot reserved, and @use was prepared.  Cannot fail.
 */
void overtake_use_begin(struct overtake_use *use, struct drm_gem_object *object, bool write)
{
	struct overtake_users *users = users_of(object, write);

	dma_resv_assert_held(object->resv);
	spin_lock_irq(&users->lock);
	begin_locked(use, users);
	follow_locked(use->fence, users);
	spin_unlock_irq(&users->lock);
	dma_resv_add_fence(object->resv, &use->fence->fence.base,
			   write ? DMA_RESV_USAGE_WRITE : DMA_RESV_USAGE_READ);
}

/*
 * overtake_use_begin_private - begin a use without a fence, of a private @object
 *
 * Returns false if @object is not private; then no use has begun.  The reservation object need not
 * be locked.
 */
bool overtake_use_begin_private(struct overtake_use *use, struct drm_gem_object *object,
				bool write)
{
	struct overtake_users *users = users_of(object, write);
	bool is_private;

	spin_lock_irq(&users->lock);
	is_private = overtake_bo_is_private(object);
	if (is_private)
		begin_locked(use, users);
	spin_unlock_irq(&users->lock);
	return is_private;
}

/*
 * overtake_use_end - the job has ended, with @status; signals the fences that this completes
 * @write: as when the use began
 *
 * Fences are signalled with the lock held, so that they come in the order of their numbers, and so
 * that another CPU that has taken a fence off the list has signalled it when this returns.  The
 * caller's job holds the buffer.  Any context; device->lock is not held, as callbacks may take it.
 */
void overtake_use_end(struct overtake_use *use, struct drm_gem_object *object, bool write,
		      s32 status)
{
	struct overtake_users *users = users_of(object, write);
	unsigned long flags;

	if (status && use->fence)
		dma_fence_set_error(&use->fence->fence.base, status);
	spin_lock_irqsave(&users->lock, flags);
	list_del(&use->link);
	spin_unlock_irqrestore(&users->lock, flags);
	while (signal_oldest(users))
		;
}
