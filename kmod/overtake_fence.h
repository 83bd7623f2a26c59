/* SPDX-License-Identifier: GPL-2.0-only */
/* The driver's own fences: of jobs, and of the uses that jobs make of buffers. */
#ifndef OVERTAKE_FENCE_H
#define OVERTAKE_FENCE_H

#include <linux/dma-fence.h>
#include <linux/list.h>
#include <linux/spinlock.h>

struct drm_gem_object;
struct overtake_device;
struct overtake_users;

/**
 * struct overtake_fence - the part that both kinds have
 * @base: must be first: it is freed by its address
 * @lock: the one of @base
 * @device: a name only: it may be gone
 */
struct overtake_fence {
	struct dma_fence base;
	spinlock_t lock; /* see above */
	const struct overtake_device *device;
};

/**
 * struct overtake_use - a job's use of a buffer
 * @fence: initialised by overtake_use_begin()
 * @users: whose number @fence is; NULL before
 * @link: in overtake_users.uses, which holds no reference; users->lock
 * @ended: the job has; users->lock
 */
struct overtake_use {
	struct overtake_fence fence;
	struct overtake_users *users;
	struct list_head link;
	bool ended;
};

struct dma_fence *overtake_fence_create(const struct overtake_device *device);
bool overtake_fence_is_of(const struct dma_fence *fence, const struct overtake_device *device);

long overtake_fence_count(void);

void overtake_users_init(struct overtake_users *users);
void overtake_users_fini(struct overtake_users *users);
struct overtake_use *overtake_use_alloc(const struct overtake_device *device);
void overtake_use_free(struct overtake_use *use);
void overtake_use_begin(struct overtake_use *use, struct drm_gem_object *object, bool write);
void overtake_use_end(struct overtake_use *use, s32 status);

#endif
