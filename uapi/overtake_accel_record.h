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
 * @context_id: in: context of jobs; a context with workers is refused (EINVAL), as by SUBMIT
 * @fc_count: in: 1..OVERTAKE_MAX_FCS
 * @binding_count: in: 1..OVERTAKE_MAX_BINDINGS
 * @scratch_bytes: in: size of the scratch region of each instance, or 0
 * @instances: in: how many jobs of the recording can be in flight: 1..OVERTAKE_MAX_INSTANCES
 *             (E2BIG)
 * @flags: in: zero
 * @record_id: in: zero; out: number of the recording in the context
 * @pad: in: zero
 *
 * Everything that the pointers name has been read when the call returns.  The memory of all
 * instances is allocated from then on, and charged to the file.  The recording keeps the mappings
 * that @bindings name, also after UNMAP, until it is forgotten.
 *
 * The scratch of an instance is zeroed here and not again: a job finds in it what an earlier job of
 * the same recording left there, and never what another recording, context or file wrote.
 *
 * ENOSPC: the context has OVERTAKE_MAX_RECORDINGS recordings.  A recording is forgotten with its
 * context.  All calls and structures in this file are there since version 1.3 of the driver.
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
 *            of regions that the recording has not bound; or 0
 * @result: in: see @result of struct drm_overtake_submit
 * @tag: in: see struct drm_overtake_submit
 * @custom_id: in: likewise
 * @deadline_ns: in: likewise
 * @extensions: in: user pointer to a chain of struct overtake_extension, of types SYNC, PLACEMENT,
 *              MODEL and REPLAY_PARTS, or 0
 * @context_id: in: the context of the recording
 * @record_id: in: @record_id that RECORD returned (ENOENT)
 * @binding_count: in: 0..OVERTAKE_MAX_BINDINGS
 * @core: in: see struct drm_overtake_submit
 * @priority: in: likewise
 * @flags: in: zero
 * @pad: in: zero
 *
 * The job is as any other: it ends, is collected, cancelled and traced like them.  The addresses
 * and cores that it names are checked each time.  A replay costs the same however many FCs were
 * recorded.  It allocates nothing but fences that other clients or drivers see: where syncobjs are
 * named, or a buffer was exported or imported.
 *
 * Fails with EBUSY while each instance is in flight, or used by another thread that is in REPLAY.
 * An instance is in flight until the end of its job was collected (through io_uring: until its CQE
 * was posted).  ENOSPC: OVERTAKE_MAX_WAITERS threads wait for an instance already.
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
 * struct overtake_extension_replay_parts - cores and record of a group, in one replay
 * @base: in: its type is OVERTAKE_EXTENSION_REPLAY_PARTS
 * @cores: in: user pointer to __u32[@part_count], which replaces @core of each part; or 0: the
 *         parts have the cores with which they were recorded
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
 * @record_id: in: number of the recording (ENOENT)
 *
 * Its jobs in flight go on to their ends; then its memory is freed.
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
