/* SPDX-License-Identifier: GPL-2.0-only */
/* Jobs that are recorded once and replayed.  See overtake_recording.c. */
#ifndef OVERTAKE_RECORDING_H
#define OVERTAKE_RECORDING_H

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>

struct drm_device;
struct drm_file;
struct drm_overtake_replay;
struct overtake_context;
struct overtake_job;

/**
 * struct overtake_recording - a job that was recorded
 * @ref: held by its id in the context, and by each instance in flight
 * @bound: the regions that it has bound, a bit for each
 * @pattern: a job with all that the instances have in common; it is never run, and holds the
 *	context
 * @scratch_bytes: bytes of the scratch region of each instance
 * @lock: protects @idle
 * @idle: instances that are not in flight, by batch_link
 * @ending: instances whose ends the client knows, and which are not in @idle yet
 * @returned: woken when an instance returns to @idle
 * @rcu: for threads that look for the recording by its id
 * @instance_count: entries of @instances
 * @instances: jobs; each one in flight has a reference to the recording
 */
struct overtake_recording {
	struct kref ref;
	u32 bound;
	struct overtake_job *pattern;
	u32 scratch_bytes;
	spinlock_t lock; /* see above */
	struct list_head idle;
	atomic_t ending;
	wait_queue_head_t returned;
	struct rcu_head rcu;
	u32 instance_count;
	struct overtake_job *instances[];
};

struct overtake_job *overtake_recording_replay(struct drm_file *file,
					       const struct drm_overtake_replay *args);
void overtake_recording_note_end(struct overtake_job *job);
void overtake_recordings_forget(struct overtake_context *context);

int overtake_record_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int overtake_forget_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

#endif
