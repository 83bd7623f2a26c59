/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/* A part of the driver's user interface, overtake_accel.h: jobs that are recorded once. */
#ifndef OVERTAKE_ACCEL_RECORD_H
#define OVERTAKE_ACCEL_RECORD_H

#include "overtake_accel.h"

#if defined(__cplusplus)
extern "C" {
#endif

#define OVERTAKE_MAX_RECORDINGS	1024u	/* per context */
#define OVERTAKE_MAX_INSTANCES	64u	/* of a recording */

/**
 * struct drm_overtake_record - check and keep a job that will be submitted again and again
 * @fcs: in: user pointer to struct overtake_fc[@fc_count]
 * @bindings: in: user pointer to struct overtake_binding[@binding_count]: memory that is the same
 *            each time, as program and weights are
 * @extensions: in: user pointer to a chain of struct overtake_extension, of types PARTS (whose
 *              @record is zero) and MODEL, or 0
 * @context_id: in: context, of jobs: one with workers is refused (EINVAL), as SUBMIT is
 * @fc_count: in: 1..OVERTAKE_MAX_FCS
 * @binding_count: in: 1..OVERTAKE_MAX_BINDINGS
 * @scratch_bytes: in: size of the scratch region of each instance, or 0
 * @instances: in: how many of its jobs can be in flight: 1..OVERTAKE_MAX_INSTANCES (E2BIG)
 * @flags: in: zero
 * @record_id: in: zero; out: its name, in the context
 * @pad: in: zero
 *
 * Everything that the pointers name has been read when the call returns.  The memory of all
 * instances is there from then on, and charged to the file.  The mappings that @bindings name stay
 * the recording's, also after UNMAP, until it is forgotten.
 *
 * The scratch of an instance is zeroed here and not again: a job finds in it what an earlier job of
 * the same recording left there, and never what another recording, context or file wrote.
 *
 * ENOSPC: the context has OVERTAKE_MAX_RECORDINGS.  A recording is forgotten with its context.
 * Since version 1.3 of the driver, as all in this file.
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
 * @bindings: in: user pointer to struct overtake_binding[@binding_count]: memory of this time, of
 *            regions that the recording has not bound; or 0
 * @result: in: as in struct drm_overtake_submit, like all that has the same name
 * @tag: in: see there
 * @custom_id: in: see there
 * @deadline_ns: in: see there
 * @extensions: in: user pointer to a chain of struct overtake_extension, of types SYNC, PLACEMENT,
 *              MODEL and REPLAY_PARTS, or 0
 * @context_id: in: the context of the recording
 * @record_id: in: what RECORD said (ENOENT)
 * @binding_count: in: 0..OVERTAKE_MAX_BINDINGS
 * @core: in: see there
 * @priority: in: see there
 * @flags: in: zero
 * @pad: in: zero
 *
 * The job is as any other, and ends, is collected, cancelled and traced as such.  What it names is
 * checked each time.  It costs the same however many FCs were recorded.  Nothing is allocated, but
 * for fences that others see: where syncobjs are named, or a buffer was exported or imported.
 *
 * Fails with EBUSY while all instances are in flight, or with other threads that are in REPLAY.  An
 * instance is in flight until the end of its job was collected (through io_uring: until its CQE was
 * posted).  ENOSPC: OVERTAKE_MAX_WAITERS threads wait for an instance already.
 *
 * Buffers that were never exported are used without a fence in their reservation objects, so the
 * memory statistics of the file do not call them active.  BO_WAIT waits for these jobs, too.
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
 * struct overtake_extension_replay_parts - cores and record of a group, for one replay
 * @base: in: its type is OVERTAKE_EXTENSION_REPLAY_PARTS
 * @cores: in: user pointer to __u32[@part_count], in place of @core of each part, or 0: the parts
 *         have the cores with which they were recorded
 * @record: in: as in struct overtake_extension_parts
 * @part_count: in: as recorded (EINVAL)
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
 * @record_id: in: its name (ENOENT)
 *
 * Jobs in flight go on to their ends; then its memory is freed.
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
