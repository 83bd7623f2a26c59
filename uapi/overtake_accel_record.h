/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/* A part of the driver's user interface, overtake_accel.h: jobs that are recorded once. */
#ifndef OVERTAKE_ACCEL_RECORD_H
#define OVERTAKE_ACCEL_RECORD_H

#include "overtake_accel.h"

#if defined(__cplusplus)
extern "C" {
#endif

#define OVERTAKE_MAX_RECORDINGS	1024u	/* per context */
#define OVERTAKE_MAX_INSTANCES	64u	/* per recording */

/**
 * struct drm_overtake_record - check and keep a job that will be submitted again and again
 * @fcs: in: user pointer to struct overtake_fc[@fc_count]
 * @bindings: in: user pointer to struct overtake_binding[@binding_count]: memory that is the same
 *            in each replay, for example program and weights
 * @extensions: in: user pointer to a chain of struct overtake_extension, of types PARTS (whose
 *              @record is zero) and MODEL, or 0
 * @context_id: in: context of jobs; a context with workers is refused (EINVAL)
 * @fc_count: in: 1..OVERTAKE_MAX_FCS
 * @binding_count: in: 1..OVERTAKE_MAX_BINDINGS
 * @scratch_bytes: in: size of the scratch region of each instance, or 0
 * @instances: in: number of jobs of the recording that can be in flight at a time:
 *             1..OVERTAKE_MAX_INSTANCES (E2BIG; EINVAL for 0)
 * @flags: in: zero
 * @record_id: in: zero; out: number of the recording in the context
 * @pad: in: zero
 *
 * When the call returns, everything that the pointers name has been read, and the memory of all
 * instances is allocated and charged to the file.  The recording keeps the mappings that @bindings
 * name, also after BO_UNMAP, until it is forgotten and its jobs have ended.
 *
 * The scratch memory of an instance is zeroed here and not again: a job finds in it what an earlier
 * job of the same recording left there, and never data of another recording, context or file.
 *
 * ENOSPC: the context has OVERTAKE_MAX_RECORDINGS recordings.  The end of a context forgets its
 * recordings.  All calls and structures in this file exist since version 1.3 of the driver.
 */
struct drm_overtake_record {
	__u64 fcs;
	__u64 bindings;
	__u64 extensions;
	__u32 context_id;
	__u32 fc_count;
	__u32 binding_count;
	__u32 scratch_bytes;
	__u32 instances;
	__u32 flags;
	__u32 record_id;
	__u32 pad;
};

/**
 * struct drm_overtake_replay - submit a recorded job; also an io_uring payload
 * @bindings: in: user pointer to struct overtake_binding[@binding_count]: memory for this replay,
 *            for regions that the recording has not bound; or 0
 * @result: in: see @result of struct drm_overtake_submit
 * @tag: in: see struct drm_overtake_submit
 * @custom_id: in: see struct drm_overtake_submit
 * @deadline_ns: in: see struct drm_overtake_submit
 * @extensions: in: user pointer to a chain of struct overtake_extension, of types SYNC, PLACEMENT,
 *              MODEL and REPLAY_PARTS, or 0
 * @context_id: in: the context of the recording
 * @record_id: in: @record_id that RECORD returned (ENOENT)
 * @binding_count: in: 0..OVERTAKE_MAX_BINDINGS
 * @core: in: see struct drm_overtake_submit
 * @priority: in: see struct drm_overtake_submit
 * @flags: in: zero
 * @pad: in: zero
 *
 * The job ends, and is collected, cancelled and traced, as other jobs are.  The addresses and cores
 * that it names are checked each time.  The cost of a replay does not depend on the number of FCs.
 * A replay allocates only fences that other clients or drivers can see: if it names syncobjs, or a
 * buffer was exported or imported.
 *
 * Fails with EBUSY if every instance is in flight, or in use by another thread that is in REPLAY.
 * An instance is in flight until the end of its job was collected (through io_uring: until its CQE
 * was posted).  ENOSPC: OVERTAKE_MAX_WAITERS threads wait for an instance already.
 *
 * A replay adds no fence to the reservation objects of buffers that were never exported, so the
 * memory statistics of the file do not count these buffers as active.  BO_WAIT waits for the jobs
 * of replays, too.
 */
struct drm_overtake_replay {
	__u64 bindings;
	__u64 result;
	__u64 tag;
	__s64 custom_id;
	__s64 deadline_ns;
	__u64 extensions;
	__u32 context_id;
	__u32 record_id;
	__u32 binding_count;
	__u32 core;
	__u16 priority;
	__u16 flags;
	__u32 pad;
};

/**
 * struct overtake_extension_replay_parts - cores and record of a group for one replay
 * @base: in: its type is OVERTAKE_EXTENSION_REPLAY_PARTS
 * @cores: in: user pointer to __u32[@part_count], which replaces @core of each part; or 0: the
 *         parts have the cores with which they were recorded
 * @record: in: see @record of struct overtake_extension_parts
 * @part_count: in: number of parts of the recording (EINVAL)
 * @pad: in: zero
 */
struct overtake_extension_replay_parts {
	struct overtake_extension base;
	__u64 cores;
	__u64 record;
	__u32 part_count;
	__u32 pad;
};

/**
 * struct drm_overtake_forget - forget a recording
 * @context_id: in: its context
 * @record_id: in: number of the recording (ENOENT)
 *
 * The jobs of the recording that are in flight go on.  Its memory is freed when they have ended.
 */
struct drm_overtake_forget {
	__u32 context_id;
	__u32 record_id;
};

#define DRM_IOCTL_OVERTAKE_RECORD \
	OVERTAKE_IOWR(DRM_OVERTAKE_RECORD, struct drm_overtake_record)
#define DRM_IOCTL_OVERTAKE_REPLAY \
	OVERTAKE_IOW(DRM_OVERTAKE_REPLAY, struct drm_overtake_replay)
#define DRM_IOCTL_OVERTAKE_FORGET \
	OVERTAKE_IOW(DRM_OVERTAKE_FORGET, struct drm_overtake_forget)

#if defined(__cplusplus)
}
#endif

#endif
