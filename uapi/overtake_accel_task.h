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
 * The tasks of all processes wait in one queue of the device.  The device decides when each segment
 * runs.  A task is a list of segments that run one after the other, each on the device or on a CPU
 * of its process.  The process submits the whole task.  The device checks the whole task then, and
 * refuses no segment later.  The device notifies the process when a CPU segment is to run, the
 * process reports the end of the segment, and the device reports the end of the task.  The device
 * never waits for the process: a CPU segment that takes too long is overdue, and other tasks go
 * ahead.
 *
 * Jobs of tasks take no part in the synchronisation of buffers.  They wait for no fence and leave
 * none, since another client or driver must not wait for a process's CPU segments.
 */

/**
 * struct overtake_task_segment - one segment of a task; it runs on the device if it has FCs
 * @fcs: in: user pointer to struct overtake_fc[@fc_count]
 * @bindings: in: user pointer to struct overtake_binding[@binding_count]
 * @cpu_key: in: CPU segment: identifies the computation, so that the device finds the time that it
 *           measured before
 * @expected_ns: in: CPU segment: its estimate in nanoseconds until a segment with its @cpu_key has
 *               run.  All CPU segments of a task count for at most one second together
 * @fc_count: in: 0..OVERTAKE_MAX_FCS; 0: a CPU segment, whose @fcs, @bindings, @binding_count and
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
 * @parts: in: user pointer to struct overtake_part[@part_count]; the parts name no cores (EINVAL)
 * @stages: in: user pointer to __u32[fc_count of the segment], as for a job
 * @part_count: in: 1..@width of the task; 0: the segment is no group, and the other three fields
 *              are 0
 * @stage_count: in: 1..OVERTAKE_MAX_STAGES (E2BIG)
 */
struct overtake_segment_parts {
	__u64 parts;
	__u64 stages;
	__u32 part_count;
	__u32 stage_count;
};

/**
 * struct overtake_extension_task_parts - segments of the task are groups on several cores at once
 * @base: in: its type is OVERTAKE_EXTENSION_TASK_PARTS
 * @segments: in: user pointer to struct overtake_segment_parts[@segment_count of the task]
 * @width: in: number of cores that the task takes: the most parts that a segment has (EINVAL)
 * @pad: in: zero
 *
 * The task names no core (EINVAL).  The task takes @width cores at once, when there is a free slot
 * on each.  It keeps these cores and slots as other tasks keep one core and one slot.  Part i of
 * each segment runs on the i-th core, a segment without parts on the first core.  While the task
 * waits for the cores it bars every core.  The rules of parts and stages are those of struct
 * overtake_extension_parts.  The extension exists since version 1.2 of the driver.
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
 * @deadline_ns: in: device time, for policies that use deadlines; ~0 = no deadline
 * @extensions: in: user pointer to a chain of struct overtake_extension, of types MODEL and
 *              TASK_PARTS, or 0
 * @context_id: in: a context with workers
 * @segment_count: in: 1..OVERTAKE_MAX_SEGMENTS
 * @core: in: 1..core_count, or OVERTAKE_CORE_ANY: the first segment on the device decides
 * @priority: in: 0..@max_priority of the context (EPERM)
 * @flags: in: zero
 * @reserved: in: zero
 *
 * When the call returns, everything that the pointers name has been read, also through io_uring.
 * The CQE reports only whether the task was accepted.  Fails as SUBMIT does.  A refused task leaves
 * nothing behind.
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

#define OVERTAKE_TASK_RUN_CPU		1u	/* run segment @segment, then call TASK_CPU_DONE */
#define OVERTAKE_TASK_ENDED		2u	/* the task ended; this event collects it */

/**
 * struct overtake_task_event - a report of the device to a process about a task
 * @tag: out: the task's tag
 * @start_ns: out: RUN_CPU: device time from which the time of the segment counts
 * @arrived_ns: out: ENDED: device time of the task's arrival
 * @dispatched_ns: out: ENDED: device time of its dispatch, 0 = the task was not dispatched
 * @ended_ns: out: ENDED: device time of its end
 * @type: out: OVERTAKE_TASK_*
 * @segment: out: RUN_CPU: number of the segment, from 0
 * @status: out: ENDED: 0, or the error of the segment that failed, as in struct overtake_result
 * @core: out: ENDED: core that ran its segments on the device, the first of several; 0 = no core
 * @result_count: out: ENDED: number of results of the call that belong to the task: one for each
 *                segment, in their order.  If a result is all zero, its segment never began.  For a
 *                CPU segment only times and status are set
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

#define OVERTAKE_TASK_EVENTS_WAKE	(1u << 0)	/* only make another call return */

/**
 * struct drm_overtake_task_events - wait for events of a context's tasks
 * @events: in: user pointer to struct overtake_task_event[@event_count]
 * @results: in: user pointer to struct overtake_result[@result_count]
 * @deadline_ns: in: absolute CLOCK_MONOTONIC time; 0 does not wait
 * @context_id: in: a context with workers
 * @event_count: in: room, at least 1; out: number of events
 * @result_count: in: room, at least OVERTAKE_MAX_SEGMENTS; out: number of results
 * @flags: in: OVERTAKE_TASK_EVENTS_WAKE: this call makes the call that waits, or the next call,
 *         return at once with the events that there are.  All other fields of this call but
 *         @context_id are zero
 *
 * Returns events in the order in which they came, as many as there is room for.  Fails with
 * ETIMEDOUT at the deadline, and with ENOSPC if OVERTAKE_MAX_WAITERS threads sleep in calls of the
 * context already.  An event that cannot be written (EFAULT) is lost.  poll() reports POLLIN while
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
 * Fails with ENOENT if there is no such task, and with EINVAL for any other @status, or if the
 * device has not reported RUN_CPU for that segment, or the process has reported its end before.
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
