/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/* A part of the driver's user interface, overtake_accel.h: tasks of service mode. */
#ifndef OVERTAKE_ACCEL_TASK_H
#define OVERTAKE_ACCEL_TASK_H

#include "overtake_accel.h"

#if defined(__cplusplus)
extern "C" {
#endif

/*
 * Service mode
 * ------------
 * The tasks of all processes wait in one queue of the device, which decides what runs when.  A
 * task is a list of segments, one after the other: on the device, or on a CPU of its process.
 * The process submits the whole task, and from then on the device refuses nothing about it.  The
 * device notifies the process when a CPU segment is to run, the process reports when it is done,
 * and the device reports the end.  The device never waits for the process: a CPU segment that takes
 * too long is overdue, and other tasks go ahead.
 *
 * Jobs of tasks take no part in the synchronisation of buffers.  They wait for no fence and leave
 * none, since another client or driver must not wait for a process's CPU segments.
 */

/**
 * struct overtake_task_segment - one segment of a task: on the device if it has FCs
 * @fcs: in: user pointer to struct overtake_fc[@fc_count]
 * @bindings: in: user pointer to struct overtake_binding[@binding_count]
 * @cpu_key: in: CPU segment: names the computation, so that the device finds the time that it
 *           measured before
 * @expected_ns: in: CPU segment: its estimate in nanoseconds until a segment with its @cpu_key has
 *               run; a second at most
 * @fc_count: in: 0..OVERTAKE_MAX_FCS; 0: on the CPU, and then @fcs, @bindings, @binding_count and
 *            @scratch_bytes are 0
 * @binding_count: in: 1..OVERTAKE_MAX_BINDINGS
 * @scratch_bytes: in: as for a job
 * @pad: in: zero
 */
struct overtake_task_segment {
	__u64 fcs;
	__u64 bindings;
	__u64 cpu_key;
	__u64 expected_ns;
	__u32 fc_count;
	__u32 binding_count;
	__u32 scratch_bytes;
	__u32 pad;
};

/**
 * struct overtake_segment_parts - the parts of a segment whose job is a group
 * @parts: in: user pointer to struct overtake_part[@part_count], which name no cores
 * @stages: in: user pointer to __u32[fc_count of the segment], as for a job
 * @part_count: in: 1..@width of the task; 0: the segment is no group, and then the other three
 *              fields are 0
 * @stage_count: in: 1..OVERTAKE_MAX_STAGES (E2BIG)
 */
struct overtake_segment_parts {
	__u64 parts;
	__u64 stages;
	__u32 part_count;
	__u32 stage_count;
};

/**
 * struct overtake_extension_task_parts - segments of the task are groups, on several cores at once
 * @base: in: its type is OVERTAKE_EXTENSION_TASK_PARTS
 * @segments: in: user pointer to struct overtake_segment_parts[@segment_count of the task]
 * @width: in: cores that the task takes: 1..core_count, and the most parts that a segment has
 * @pad: in: zero
 *
 * The task names no core (EINVAL).  The task takes @width cores at once, when there is a free slot
 * on each, and keeps the cores and the slots as other tasks keep one: part i of each segment runs
 * on the i-th core, a segment without parts on the first.  While the task waits for the cores it
 * bars every core.  The rules of parts and stages are those of struct overtake_extension_parts.
 * Since version 1.2 of the driver.
 */
struct overtake_extension_task_parts {
	struct overtake_extension base;
	__u64 segments;
	__u32 width;
	__u32 pad;
};

/**
 * struct drm_overtake_task_submit - submit a task; also the io_uring payload, 80 bytes
 * @segments: in: user pointer to struct overtake_task_segment[@segment_count]
 * @tag: in: client's name for the task, unique in the context until its end is collected (EEXIST)
 * @custom_id: in: within one priority the task with the smaller number goes first
 * @deadline_ns: in: device time, for policies that look at it; ~0 = none
 * @extensions: in: user pointer to a chain of struct overtake_extension, of types MODEL and
 *              TASK_PARTS, or 0
 * @context_id: in: a context with workers
 * @segment_count: in: 1..OVERTAKE_MAX_SEGMENTS
 * @core: in: 1..core_count, or OVERTAKE_CORE_ANY: the first segment on the device settles it
 * @priority: in: 0..context's max_priority
 * @flags: in: zero
 * @reserved: in: zero
 *
 * Everything that the pointers name has been read when the call returns, through io_uring too: its
 * CQE reports only whether the task was accepted.  Fails as SUBMIT does; a task that is refused
 * leaves nothing behind.
 */
struct drm_overtake_task_submit {
	__u64 segments;
	__u64 tag;
	__s64 custom_id;
	__u64 deadline_ns;
	__u64 extensions;
	__u32 context_id;
	__u32 segment_count;
	__u32 core;
	__u16 priority;
	__u16 flags;
	__u64 reserved[3];
};

#define OVERTAKE_TASK_RUN_CPU		1u	/* run segment @segment, then TASK_CPU_DONE */
#define OVERTAKE_TASK_ENDED		2u	/* the task ended; this event collects it */

/**
 * struct overtake_task_event - what the device reports to a process about a task
 * @tag: out: the task's tag
 * @start_ns: out: RUN_CPU: device time from which on the segment is measured
 * @arrived_ns: out: ENDED: device time
 * @dispatched_ns: out: ENDED: device time, 0 = it was not dispatched
 * @ended_ns: out: ENDED: device time
 * @type: out: OVERTAKE_TASK_*
 * @segment: out: RUN_CPU: number of the segment, from 0
 * @status: out: ENDED: 0, or the error of the segment that failed, as in struct overtake_result
 * @core: out: ENDED: core that took its segments on the device, the first of several; 0 = none did
 * @result_count: out: ENDED: how many of the call's results belong to the task, in order: one for
 *                each segment.  A result that is all zero: the segment never began.  For a CPU
 *                segment only times and status are set
 * @pad: out: zero
 */
struct overtake_task_event {
	__u64 tag;
	__u64 start_ns;
	__u64 arrived_ns;
	__u64 dispatched_ns;
	__u64 ended_ns;
	__u32 type;
	__u32 segment;
	__s32 status;
	__u32 core;
	__u32 result_count;
	__u32 pad;
};

#define OVERTAKE_TASK_EVENTS_WAKE	(1u << 0)	/* only let another thread's call return */

/**
 * struct drm_overtake_task_events - wait for events of a context's tasks
 * @events: in: user pointer to struct overtake_task_event[@event_count]
 * @results: in: user pointer to struct overtake_result[@result_count]
 * @deadline_ns: in: absolute CLOCK_MONOTONIC time; 0 does not wait
 * @context_id: in: a context with workers
 * @event_count: in: room, at least 1; out: number of events
 * @result_count: in: room, at least OVERTAKE_MAX_SEGMENTS; out: number of results
 * @flags: in: OVERTAKE_TASK_EVENTS_WAKE: the call that waits, or the next one, returns at once with
 *         the events that there are; all other fields but @context_id are zero then
 *
 * Returns events in the order in which they came, as many as there is room for.  Fails with
 * ETIMEDOUT at the deadline, and with ENOSPC if OVERTAKE_MAX_WAITERS threads sleep in calls of the
 * context already.  Events that cannot be written (EFAULT) are lost.  poll() reports POLLIN while
 * there are events.
 *
 * Through io_uring the call does not wait (@deadline_ns is zero), and the CQE's res is the number
 * of events, 0 if there are none.  The sum of their @result_count is the number of results.
 */
struct drm_overtake_task_events {
	__u64 events;
	__u64 results;
	__s64 deadline_ns;
	__u32 context_id;
	__u32 event_count;
	__u32 result_count;
	__u32 flags;
};

/**
 * struct drm_overtake_task_cpu_done - report the end of a CPU segment
 * @tag: in: the task's tag
 * @context_id: in: its context
 * @segment: in: number of the segment, from 0
 * @status: in: 0, or a negative errno, which ends the task
 * @pad: in: zero
 *
 * Fails with ENOENT if there is no such task, and with EINVAL unless its process is to run
 * just that segment.
 */
struct drm_overtake_task_cpu_done {
	__u64 tag;
	__u32 context_id;
	__u32 segment;
	__s32 status;
	__u32 pad;
};

/**
 * struct drm_overtake_task_cancel - cancel a task
 * @tag: in: the task's tag
 * @context_id: in: its context
 * @pad: in: zero
 *
 * Work that has not started never runs, and the task ends some time later.  Fails with ENOENT if
 * there is no such task, or it has ended.
 */
struct drm_overtake_task_cancel {
	__u64 tag;
	__u32 context_id;
	__u32 pad;
};

#define DRM_IOCTL_OVERTAKE_TASK_SUBMIT \
	OVERTAKE_IOW(DRM_OVERTAKE_TASK_SUBMIT, struct drm_overtake_task_submit)
#define DRM_IOCTL_OVERTAKE_TASK_EVENTS \
	OVERTAKE_IOWR(DRM_OVERTAKE_TASK_EVENTS, struct drm_overtake_task_events)
#define DRM_IOCTL_OVERTAKE_TASK_CPU_DONE \
	OVERTAKE_IOW(DRM_OVERTAKE_TASK_CPU_DONE, struct drm_overtake_task_cpu_done)
#define DRM_IOCTL_OVERTAKE_TASK_CANCEL \
	OVERTAKE_IOW(DRM_OVERTAKE_TASK_CANCEL, struct drm_overtake_task_cancel)

#if defined(__cplusplus)
}
#endif

#endif
