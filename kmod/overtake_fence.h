/* SPDX-License-Identifier: GPL-2.0-only */
/* The driver's own fences: those of jobs, and those of the uses that jobs make of buffers. */
#ifndef OVERTAKE_FENCE_H
#define OVERTAKE_FENCE_H

#include <linux/dma-fence.h>
#include <linux/list.h>
#include <linux/spinlock.h>

struct drm_gem_object;
struct overtake_device;
struct overtake_users;

/**
 * struct overtake_fence - the part that both kinds of fences have
 * @base: must be first: dma_fence_free() frees the fence by this address
 * @lock: the lock that @base uses
 * @device: only to be compared: the device may be gone
 */
struct overtake_fence {
	struct dma_fence base;
	spinlock_t lock; /* see above */
	const struct overtake_device *device;
};

/**
 * struct overtake_use_fence - signalled when the first n uses of a buffer, of one kind, have ended
 * @fence: n is its sequence number; @fence is initialised when n is known
 * @users: users of the buffer; NULL until n is known
 * @link: in overtake_users.fences, which holds no reference; users->lock
 */
struct overtake_use_fence {
	struct overtake_fence fence;
	struct overtake_users *users;
	struct list_head link;
};

/**
 * struct overtake_use - a job's use of a buffer; part of the job
 * @fence: for the buffer's reservation object, and the job's reference to it, or NULL
 * @link: in overtake_users.uses; users->lock
 * @number: number of the use: uses are numbered in the order in which they begin
 */
struct overtake_use {
	struct overtake_use_fence *fence;
	struct list_head link;
	u64 number;
};

struct dma_fence *overtake_fence_create(const struct overtake_device *device);
bool overtake_fence_is_of(const struct dma_fence *fence, const struct overtake_device *device);

long overtake_fence_count(void);

void overtake_users_init(struct overtake_users *users);
void overtake_users_fini(struct overtake_users *users);
int overtake_users_share(struct drm_gem_object *object);
long overtake_users_wait(struct drm_gem_object *object, bool write, long timeout);

int overtake_use_prepare(struct overtake_use *use, const struct overtake_device *device);
void overtake_use_reset(struct overtake_use *use);
void overtake_use_begin(struct overtake_use *use, struct drm_gem_object *object, bool write);
bool overtake_use_begin_private(struct overtake_use *use, struct drm_gem_object *object,
				bool write);
void overtake_use_end(struct overtake_use *use, struct drm_gem_object *object, bool write,
		      s32 status);

#endif
