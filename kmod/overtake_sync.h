/* SPDX-License-Identifier: GPL-2.0-only */
/* Fences that a job waits for, and syncobjs that get its fence.  See overtake_sync.c. */
#ifndef OVERTAKE_SYNC_H
#define OVERTAKE_SYNC_H

#include <linux/atomic.h>
#include <linux/types.h>

struct dma_fence;
struct drm_file;
struct overtake_device;
struct overtake_extension_sync;
struct overtake_in_fence;
struct overtake_job;
struct overtake_out_fence;

/**
 * struct overtake_syncs - a job's fences other than its own; part of the job
 * @in: fences that it waits for, each with a reference
 * @out: syncobjs that get its fence
 * @in_count: entries of @in
 * @in_room: entries that fit into @in
 * @out_count: entries of @out
 * @out_room: entries that fit into @out
 * @charged_bytes: bytes charged for the arrays, a part of overtake_job.charged_bytes
 * @pending: fences not signalled yet, and one for the submitter until the job is published
 * @error: error of the first fence that failed, or 0
 * @listed: @link is in overtake_device.unblocked, or was
 * @link: in overtake_device.unblocked
 */
struct overtake_syncs {
	struct overtake_in_fence *in;
	struct overtake_out_fence *out;
	u32 in_count;
	u32 in_room;
	u32 out_count;
	u32 out_room;
	u64 charged_bytes;
	atomic_t pending;
	int error;
	bool listed;
	struct list_head link;
};

int overtake_syncs_parse(struct overtake_job *job, struct drm_file *file,
			 const struct overtake_extension_sync *sync);
int overtake_syncs_add_implicit(struct overtake_job *job);
bool overtake_syncs_any(const struct overtake_job *job);
void overtake_syncs_attach(struct overtake_job *job);
void overtake_syncs_arm(struct overtake_job *job);
void overtake_syncs_disarm(struct overtake_job *job);
void overtake_syncs_clear(struct overtake_job *job);
void overtake_syncs_free(struct overtake_job *job);

void overtake_unblocked_init(struct overtake_device *device);
struct overtake_job *overtake_unblocked_take_locked(struct overtake_device *device);
bool overtake_unblocked_any(struct overtake_device *device);

#endif
