/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * The Overtake driver's user interface: /dev/accel/accelN.
 *
 * Extension rules
 * ---------------
 *  - A structure only grows, at its end, and its size stays a multiple of 8.  The DRM core sets
 *    fields that an old client does not pass to zero.  An old kernel ignores fields it lacks.
 *    The io_uring payload stays 80 bytes: it grows through @extensions.
 *  - A client sets padding, reserved fields, unknown flags and fields without in: to zero.  Else
 *    the call fails with EINVAL.  So these can get a meaning later.  @result of WAIT is exempt.
 *  - Numbers (ioctls, topics, flags, commands) once assigned stay assigned.
 *  - Queries negotiate their size: ask with size 0 to learn it, then ask again.  A client reads the
 *    part of the answer that it knows.
 *  - The deadline of a call that waits is absolute CLOCK_MONOTONIC nanoseconds; 0 does not wait,
 *    a negative value is an error (EINVAL), the largest signed value waits for ever.
 *  - Every blocking call may fail with EINTR.  The client can call again with the same arguments.
 *
 * Objects
 * -------
 * A buffer (GEM handle) belongs to an open file.  BO_MAP pins it and gives it an
 * address in the device address space of that file; jobs name memory only by such
 * addresses.  A context is a queue with the right to priorities up to its @max_priority.  A job
 * belongs to a context, in which a tag that the client chooses identifies it.
 *
 * Readiness
 * ---------
 * poll() of the file reports POLLIN while WAIT can collect a job, or TASK_EVENTS an event.  Pollers
 * are woken when the file becomes readable, and not again while it stays so.  An edge-triggered
 * poller (EPOLLET, multishot POLL_ADD) collects until OVERTAKE_WAIT_ANY or TASK_EVENTS fails.
 */
#ifndef OVERTAKE_ACCEL_H
#define OVERTAKE_ACCEL_H

#include <linux/ioctl.h>
#include <linux/types.h>
#include "overtake_isa.h"

#if defined(__cplusplus)
extern "C" {
#endif

#define OVERTAKE_PRIORITY_HIGH		255u
#define OVERTAKE_CORE_ANY		0u
#define OVERTAKE_DEADLINE_NEVER		0x7fffffffffffffffll

/*
 * Limits.  A call that exceeds a limit fails with E2BIG or ENOSPC, and leaves nothing allocated.
 * More workers than OVERTAKE_MAX_WORKERS are refused with EINVAL.
 */
#define OVERTAKE_MAX_CORES		64u
#define OVERTAKE_MAX_FCS		65536u
#define OVERTAKE_MAX_BINDINGS		(OVERTAKE_MAX_REGIONS - 1u)
#define OVERTAKE_MAX_CONTEXTS		64u	/* per open file */
#define OVERTAKE_MAX_JOBS		1024u	/* per context, in flight or not yet collected */
#define OVERTAKE_MAX_CLIENT_JOBS	8192u	/* per open file, in flight or not yet collected */
#define OVERTAKE_MAX_BUFFERS		4096u	/* per open file */
#define OVERTAKE_MAX_BUFFER_BYTES	(1ull << 30)
#define OVERTAKE_MAX_CLIENT_BYTES	(4ull << 30)	/* all memory of one open file */
#define OVERTAKE_MAX_SCRATCH_BYTES	(256u << 20)

#define OVERTAKE_MAX_SYNCS		32u	/* per job: fences in, and fences out */
#define OVERTAKE_MAX_TASKS		1024u	/* per context, until their ends are collected */
#define OVERTAKE_MAX_USER_TASKS		65536u	/* per user, until their ends are collected */
#define OVERTAKE_MAX_WAITERS		256u	/* threads that sleep in calls of one context */
#define OVERTAKE_MAX_SEGMENTS		1024u	/* of a task */
#define OVERTAKE_MAX_WORKERS		1024u	/* per context */

/*
 * 'd' and 0x40 are DRM's ioctl type and first driver command (DRM_IOCTL_BASE,
 * DRM_COMMAND_BASE).  They are here so that this header includes none of DRM's headers:
 * distributions keep those in different places, and some have none.
 */
#define OVERTAKE_IOW(number, type)	_IOW('d', 0x40 + (number), type)
#define OVERTAKE_IOWR(number, type)	_IOWR('d', 0x40 + (number), type)

#define DRM_OVERTAKE_QUERY		0x00
#define DRM_OVERTAKE_BO_CREATE		0x01
#define DRM_OVERTAKE_BO_MMAP_OFFSET	0x02
#define DRM_OVERTAKE_BO_MAP		0x03
#define DRM_OVERTAKE_BO_UNMAP		0x04
#define DRM_OVERTAKE_BO_WAIT		0x05
#define DRM_OVERTAKE_CONTEXT_CREATE	0x06
#define DRM_OVERTAKE_CONTEXT_DESTROY	0x07
#define DRM_OVERTAKE_SUBMIT		0x08
#define DRM_OVERTAKE_CANCEL		0x09
#define DRM_OVERTAKE_WAIT		0x0a
#define DRM_OVERTAKE_TASK_SUBMIT	0x0b
#define DRM_OVERTAKE_TASK_EVENTS	0x0c
#define DRM_OVERTAKE_TASK_CPU_DONE	0x0d
#define DRM_OVERTAKE_TASK_CANCEL	0x0e
#define DRM_OVERTAKE_RECORD		0x0f
#define DRM_OVERTAKE_REPLAY		0x10
#define DRM_OVERTAKE_FORGET		0x11

/* sqe->cmd_op of IORING_OP_URING_CMD; needs SQE128, and CQE32 for the executed time in res2. */
#define OVERTAKE_URING_SUBMIT		1u	/* payload: struct drm_overtake_submit */
#define OVERTAKE_URING_CANCEL		2u	/* payload: struct drm_overtake_cancel, rest zero */
#define OVERTAKE_URING_TASK_SUBMIT	3u	/* struct drm_overtake_task_submit */
#define OVERTAKE_URING_TASK_CPU_DONE	4u	/* struct drm_overtake_task_cpu_done, rest zero */
#define OVERTAKE_URING_TASK_CANCEL	5u	/* struct drm_overtake_task_cancel, rest zero */
#define OVERTAKE_URING_TASK_EVENTS	6u	/* struct drm_overtake_task_events, rest zero */
#define OVERTAKE_URING_REPLAY		7u	/* struct drm_overtake_replay, rest zero */
#define OVERTAKE_URING_PAYLOAD_BYTES	80u

#define OVERTAKE_QUERY_DEVICE		0u	/* struct drm_overtake_device_info */
#define OVERTAKE_QUERY_CORES		1u	/* struct drm_overtake_core_info[core_count] */
#define OVERTAKE_QUERY_LIMITS		2u	/* struct drm_overtake_limit[] */
#define OVERTAKE_QUERY_SERVICE		3u	/* struct drm_overtake_service_info */
/* struct drm_overtake_core_profiles; a struct drm_overtake_core_profile for each core follows it */
#define OVERTAKE_QUERY_CORE_PROFILES	4u

/**
 * struct drm_overtake_query - read one topic
 * @topic: in: OVERTAKE_QUERY_*
 * @pad: in: zero
 * @size: in: bytes at @data, or 0 to ask for the size; out: bytes that the topic has
 * @data: in: user pointer to a buffer, to which the driver writes at most @size bytes
 */
struct drm_overtake_query {
	__u32 topic;
	__u32 pad;
	__u64 size;
	__u64 data;
};

/* How cores spend an FC's time. */
#define OVERTAKE_MODE_FUNCTIONAL	0u	/* compute, as fast as the host can */
#define OVERTAKE_MODE_TIMED		1u	/* no arithmetic; take the modelled time */
#define OVERTAKE_MODE_BOTH		2u	/* compute, and take the modelled time */

/**
 * struct drm_overtake_device_info - what a client needs to know of the device
 *
 * The cores of a device may be of different kinds.  The numbers of a core here are the numbers of
 * core 1.  OVERTAKE_QUERY_CORE_PROFILES has the numbers of each core.
 *
 * @isa_version: out: OVERTAKE_ISA_VERSION of the device
 * @core_count: out: number of cores
 * @mode: out: OVERTAKE_MODE_*
 * @manual_clock: out: 1 while device time is stepped by hand
 * @clock_khz: out: cycles per millisecond
 * @macs_per_cycle: out: multiply-accumulates of a core in one cycle
 * @bytes_per_cycle: out: bytes of memory traffic of a core in one cycle
 * @insn_overhead_cycles: out: fixed cost of an instruction
 * @fc_overhead_cycles: out: fixed cost of an FC
 * @ring_entries: out: descriptors that a hardware ring can hold
 * @watchdog_cycles: out: the most cycles that one FC may execute
 * @queue_timeout_ns: out: time for which a job without a deadline may be in flight
 * @device_time_ns: out: device time now; the results of jobs use this clock.  It is
 *                  CLOCK_MONOTONIC unless @manual_clock is set
 */
struct drm_overtake_device_info {
	__u32 isa_version;
	__u32 core_count;
	__u32 mode;
	__u32 manual_clock;
	__u32 clock_khz;
	__u32 macs_per_cycle;
	__u32 bytes_per_cycle;
	__u32 insn_overhead_cycles;
	__u32 fc_overhead_cycles;
	__u32 ring_entries;
	__u64 watchdog_cycles;
	__u64 queue_timeout_ns;
	__u64 device_time_ns;
};

/**
 * struct drm_overtake_service_info - settings for the tasks of all processes
 * @slots: out: the most tasks below priority 255 that may interleave on a core
 * @task_limit: out: the most tasks below priority 255 that may have begun and not ended
 * @threshold_percent: out: a task may exceed the rest of a gap by less than this percentage of the
 *                     time of the next BPU segment of the gap's owner
 * @share: out: 1: places of the task limit are reserved for processes that wait and have none
 * @insert_max_time_ns: out: tasks shorter than this fill any gap
 * @wait_dispatch_time_ns: out: gaps longer than this take any task
 * @overdue_min_time_ns: out: a CPU segment is overdue if it waits for a worker, or then runs, for
 *                       longer than both this and @overdue_factor times its estimate; 0 = no
 *                       segment is ever overdue.  A second limit bounds all CPU segments of a task
 *                       together
 * @overdue_factor: out: see @overdue_min_time_ns
 */
struct drm_overtake_service_info {
	__u32 slots;
	__u32 task_limit;
	__u32 threshold_percent;
	__u32 share;
	__u64 insert_max_time_ns;
	__u64 wait_dispatch_time_ns;
	__u64 overdue_min_time_ns;
	__u64 overdue_factor;
};

/*
 * Limits, in the order of OVERTAKE_QUERY_LIMITS; new limits are added at the end.  E2BIG: a single
 * call asks for more than is ever allowed.  ENOSPC: the call asks for too much, given the objects
 * that exist already.  Without CAP_PERFMON, @used of OVERTAKE_LIMIT_COMMANDS, which all clients
 * share, is coarse: it changes when the counters of a core do, and is rounded down to a multiple of
 * 1024.
 */
#define OVERTAKE_LIMIT_CONTEXTS		0u	/* of the file; ENOSPC */
#define OVERTAKE_LIMIT_CONTEXT_JOBS	1u	/* of one context, not yet collected; ENOSPC */
#define OVERTAKE_LIMIT_CLIENT_JOBS	2u	/* of the file, not yet collected; ENOSPC */
#define OVERTAKE_LIMIT_BUFFERS		3u	/* of the file, with imports; ENOSPC */
#define OVERTAKE_LIMIT_CLIENT_BYTES	4u	/* of the file: buffers, jobs, scratch; ENOSPC */
#define OVERTAKE_LIMIT_COMMANDS		5u	/* of the device: 2 per job in flight; ENOSPC */
#define OVERTAKE_LIMIT_BUFFER_BYTES	6u	/* of one buffer; E2BIG */
#define OVERTAKE_LIMIT_FCS		7u	/* of one job; E2BIG */
#define OVERTAKE_LIMIT_BINDINGS		8u	/* of one job; E2BIG */
#define OVERTAKE_LIMIT_SCRATCH_BYTES	9u	/* of one job; E2BIG */
#define OVERTAKE_LIMIT_SYNCS		10u	/* of one job, in or out; E2BIG */
#define OVERTAKE_LIMIT_USER_COMMANDS	11u	/* of the user: 2 per job in flight; ENOSPC */
#define OVERTAKE_LIMIT_TASKS		12u	/* of one context, not yet collected; ENOSPC */
#define OVERTAKE_LIMIT_SEGMENTS		13u	/* of one task; E2BIG */
#define OVERTAKE_LIMIT_USER_TASKS	14u	/* of the user, not yet collected; ENOSPC */
#define OVERTAKE_LIMIT_WAITERS		15u	/* of one context, asleep in a call; ENOSPC */
#define OVERTAKE_LIMIT_STAGES		16u	/* of one group; E2BIG */
#define OVERTAKE_LIMIT_RECORDINGS	17u	/* of one context; ENOSPC */
#define OVERTAKE_LIMIT_INSTANCES	18u	/* of one recording; E2BIG */
#define OVERTAKE_LIMIT_COUNT		19u

/**
 * struct drm_overtake_limit - a limit, and its present use
 * @value: out: the maximum
 * @used: out: the present number; 0 for limits on a single call.  For a limit of one context
 *        (CONTEXT_JOBS, TASKS, WAITERS, RECORDINGS), the number in the context with the most; for
 *        OVERTAKE_LIMIT_COMMANDS, the number of all clients of the device together
 * @refused: out: number of calls of this file that failed because of the limit
 * @refused_ns: out: CLOCK_MONOTONIC time of the last such call, 0: none.  After an error, the limit
 *              with the latest time is the limit that the call exceeded
 */
struct drm_overtake_limit {
	__u64 value;
	__u64 used;
	__u64 refused;
	__u64 refused_ns;
};

/**
 * struct drm_overtake_bo_create - create a zeroed buffer
 * @size: in: bytes, rounded up to pages; out: actual size in bytes
 * @flags: in: zero
 * @handle: in: zero; out: GEM handle, which DRM_IOCTL_GEM_CLOSE frees
 */
struct drm_overtake_bo_create {
	__u64 size;
	__u32 flags;
	__u32 handle;
};

/**
 * struct drm_overtake_bo_mmap_offset - offset to pass to mmap() on the device file
 * @handle: in: GEM handle
 * @pad: in: zero
 * @offset: in: zero; out: offset
 */
struct drm_overtake_bo_mmap_offset {
	__u32 handle;
	__u32 pad;
	__u64 offset;
};

#define OVERTAKE_MAP_READ		(1u << 0)
#define OVERTAKE_MAP_WRITE		(1u << 1)

/**
 * struct drm_overtake_bo_map - pin a buffer into the file's device address space
 * @handle: in: GEM handle
 * @flags: in: OVERTAKE_MAP_READ, or OVERTAKE_MAP_READ with OVERTAKE_MAP_WRITE
 * @address: in: zero; out: device address of its first byte, never 0
 *
 * Fails with EEXIST if the buffer is mapped already, with EACCES for OVERTAKE_MAP_WRITE of a buffer
 * that was imported from a read-only dma-buf, and with ENOENT if there is no such buffer.
 */
struct drm_overtake_bo_map {
	__u32 handle;
	__u32 flags;
	__u64 address;
};

/**
 * struct drm_overtake_bo_unmap - take a buffer out of the device address space
 * @address: in: device address that BO_MAP returned (ENOENT)
 *
 * Jobs in flight keep the buffer; new jobs cannot name the address.
 */
struct drm_overtake_bo_unmap {
	__u64 address;
};

/**
 * struct drm_overtake_bo_wait - wait until no job uses a buffer
 * @handle: in: GEM handle
 * @flags: in: OVERTAKE_MAP_READ waits for writers only; with OVERTAKE_MAP_WRITE in addition, the
 *         call waits for readers, too
 * @deadline_ns: in: absolute CLOCK_MONOTONIC time
 *
 * If the buffer was exported or imported, the call waits for other users of the dma-buf, too.
 * Fails with ETIMEDOUT at the deadline, with ENOENT if there is no such buffer, and with ENOMEM.
 */
struct drm_overtake_bo_wait {
	__u32 handle;
	__u32 flags;
	__s64 deadline_ns;
};

#define OVERTAKE_CONTEXT_WORKERS	0xffffu	/* bits of a number */

/**
 * struct drm_overtake_context_create - create a queue
 * @max_priority: in: greatest priority of its jobs, 0..255; 255 needs CAP_SYS_NICE (EPERM)
 * @core_limit: in: core limit that the context asks for, 0 = none; non-zero needs @max_priority 255
 *              (EINVAL)
 * @flags: in: OVERTAKE_CONTEXT_WORKERS: 0 for a queue of jobs; 1..OVERTAKE_MAX_WORKERS for a queue
 *         of tasks: the number of CPU segments that the process runs at a time.  A queue of tasks
 *         takes TASK_SUBMIT and no jobs; EOPNOTSUPP on a device with cores of different kinds.  All
 *         other bits are zero
 * @context_id: in: zero; out: id in the open file, from 1
 */
struct drm_overtake_context_create {
	__u32 max_priority;
	__u32 core_limit;
	__u32 flags;
	__u32 context_id;
};

/**
 * struct drm_overtake_context_destroy - cancel the jobs of a context and destroy it
 * @context_id: in: id (ENOENT)
 * @pad: in: zero
 *
 * The call returns when the last job has ended.  ENOSPC: OVERTAKE_MAX_WAITERS threads destroy the
 * context already.
 */
struct drm_overtake_context_destroy {
	__u32 context_id;
	__u32 pad;
};

/**
 * struct overtake_fc - one function call: a range of a program
 * @first_insn: index of the first instruction
 * @insn_count: number of instructions, at least 1
 */
struct overtake_fc {
	__u32 first_insn;
	__u32 insn_count;
};

/**
 * struct overtake_binding - the memory of a region of a job
 * @address: device address
 * @length: bytes, at least 1
 * @region: region index, each at most once, never OVERTAKE_REGION_SCRATCH
 * @flags: OVERTAKE_MAP_READ, or OVERTAKE_MAP_READ with OVERTAKE_MAP_WRITE; the mapping must allow
 *         the access (EACCES)
 */
struct overtake_binding {
	__u64 address;
	__u64 length;
	__u32 region;
	__u32 flags;
};

/**
 * struct overtake_result - the result of a job
 * @tag: the job's tag
 * @queued_ns: device time of its arrival: when it was submitted, or when the last fence that it
 *             waited for was signalled; 0 if it ended before its arrival
 * @start_ns: device time when its first FC started, 0 if no FC started
 * @end_ns: device time of its end
 * @executed_ns: device time that its FCs took
 * @preemptions: number of pairs of neighbouring FCs of the job between which a HIGH FC ran
 * @fcs_done: number of its FCs that ended
 * @core: core that took the job, from 1; 0 if no core took it
 * @status: 0; -ECANCELED; -ENOEXEC bad instruction; -ETIMEDOUT watchdog, or an FC's clock;
 *          -ETIME deadline; -EIO reset; -ESHUTDOWN context banned; -ENODEV device gone; or the
 *          error of a fence that the job had to wait for (struct overtake_extension_sync)
 * @fault: OVERTAKE_FAULT_*; OVERTAKE_FAULT_STOPPED: an FC kept executing for too long after the
 *         cancel or the deadline, so the device stopped it half-way
 * @fault_insn: index of the instruction that faulted
 */
struct overtake_result {
	__u64 tag;
	__u64 queued_ns;
	__u64 start_ns;
	__u64 end_ns;
	__u64 executed_ns;
	__u32 preemptions;
	__u32 fcs_done;
	__u32 core;
	__s32 status;
	__u32 fault;
	__u32 fault_insn;
};

#define OVERTAKE_EXTENSION_SYNC		1u	/* struct overtake_extension_sync */
#define OVERTAKE_EXTENSION_PLACEMENT	2u	/* struct overtake_extension_placement */
#define OVERTAKE_EXTENSION_MODEL	3u	/* struct overtake_extension_model */
#define OVERTAKE_EXTENSION_PARTS	4u	/* struct overtake_extension_parts */
#define OVERTAKE_EXTENSION_TASK_PARTS	5u	/* struct overtake_extension_task_parts */
#define OVERTAKE_EXTENSION_REPLAY_PARTS	6u	/* struct overtake_extension_replay_parts */

/**
 * struct overtake_extension - header of each structure in a chain of a job or task
 * @next: in: user pointer to the next header, or 0
 * @type: in: OVERTAKE_EXTENSION_*, each at most once in a chain; EINVAL for an unknown type
 * @pad: in: zero
 */
struct overtake_extension {
	__u64 next;
	__u32 type;
	__u32 pad;
};

/**
 * struct overtake_sync - a fence, named by a syncobj
 * @handle: in: syncobj handle (DRM_IOCTL_SYNCOBJ_*)
 * @flags: in: zero
 * @point: in: point of a timeline, or 0 for a binary syncobj
 */
struct overtake_sync {
	__u32 handle;
	__u32 flags;
	__u64 point;
};

/**
 * struct overtake_extension_sync - fences that a job waits for, and syncobjs that get its fence
 * @base: in: @type is OVERTAKE_EXTENSION_SYNC
 * @in: in: user pointer to struct overtake_sync[@in_count]: fences that the job waits for before
 *      it arrives; each syncobj must have a fence (EINVAL)
 * @out: in: user pointer to struct overtake_sync[@out_count]: syncobjs that get the job's fence
 * @in_count: in: 0..OVERTAKE_MAX_SYNCS (E2BIG)
 * @out_count: in: 0..OVERTAKE_MAX_SYNCS (E2BIG)
 *
 * ENOENT: there is no such handle.  If the call fails, no syncobj has changed.  While a job waits,
 * it is in flight in every other respect: it can be cancelled, and its deadline runs.  If a fence
 * that the job waits for fails, the job ends with the error of that fence and never runs.
 */
struct overtake_extension_sync {
	struct overtake_extension base;
	__u64 in;
	__u64 out;
	__u32 in_count;
	__u32 out_count;
};

/**
 * struct overtake_extension_placement - the cores that may take a job, and the core that takes it
 * @base: in: @type is OVERTAKE_EXTENSION_PLACEMENT
 * @cores: in: bit k - 1: core k may take the job; at least one bit, and only of cores that the
 *         device has (EINVAL)
 * @core: in: zero; out: the core that takes it, from 1
 * @pad: in: zero
 *
 * @core of the job is OVERTAKE_CORE_ANY (EINVAL).  The device chooses the core in @cores with the
 * fewest unfinished FCs, including FCs of its jobs that have not arrived yet; on a tie the lowest.
 * The device decides at the submission, also if the job waits for fences.  If @core here cannot be
 * written any more when the job is in flight, it stays zero; the job's result has the core, too.
 */
struct overtake_extension_placement {
	struct overtake_extension base;
	__u64 cores;
	__u32 core;
	__u32 pad;
};

/**
 * struct overtake_extension_model - the model of a job or a task, as tracing names it
 * @base: in: its type is OVERTAKE_EXTENSION_MODEL
 * @model: in: the model in trace events: by custom the first eight characters of its name, from the
 *         least significant byte; 0 = no name
 *
 * The driver uses @model for nothing else.  It exists since version 1.1 of DRM_IOCTL_VERSION.
 */
struct overtake_extension_model {
	struct overtake_extension base;
	__u64 model;
};

/**
 * struct drm_overtake_submit - submit a job; also the io_uring payload, 80 bytes
 * @fcs: in: user pointer to struct overtake_fc[@fc_count]
 * @bindings: in: user pointer to struct overtake_binding[@binding_count]
 * @result: in: device address, 8-byte aligned, of a struct overtake_result to fill, or 0
 * @tag: in: client's name for the job, unique in the context until collected (EEXIST)
 * @custom_id: in: a number for tracing; it changes no order
 * @deadline_ns: in: absolute CLOCK_MONOTONIC time at which the job ends with -ETIME, or 0
 *               for the device's default; no job is in flight for longer than the device's
 *               maximum (one minute unless the administrator chose another time)
 * @extensions: in: user pointer to the first struct overtake_extension of a chain, or 0
 * @context_id: in: context
 * @fc_count: in: 1..OVERTAKE_MAX_FCS
 * @binding_count: in: 1..OVERTAKE_MAX_BINDINGS
 * @core: in: 1..core_count, or OVERTAKE_CORE_ANY
 * @scratch_bytes: in: size of the job's zeroed scratch region, or 0
 * @priority: in: 0..@max_priority of the context (EPERM); 255 enters the HIGH ring
 * @flags: in: zero
 *
 * WAIT collects a job submitted through ioctl.  The CQE of a job submitted through io_uring has the
 * status in res and the executed nanoseconds in res2; nothing is left to collect.
 * When the call returns, everything that the pointers name has been read, and fences are in place.
 * Through io_uring, this is so when the system call that submits the SQE returns, unless the SQE
 * asks for IOSQE_ASYNC.
 *
 * Fails with ENOENT if an address is not mapped, and with ESHUTDOWN if the context is banned: too
 * many of its jobs failed by their own fault, or cost cores too much time.  Create another context.
 */
struct drm_overtake_submit {
	__u64 fcs;
	__u64 bindings;
	__u64 result;
	__u64 tag;
	__s64 custom_id;
	__s64 deadline_ns;
	__u64 extensions;
	__u32 context_id;
	__u32 fc_count;
	__u32 binding_count;
	__u32 core;
	__u32 scratch_bytes;
	__u16 priority;
	__u16 flags;
};

/**
 * struct drm_overtake_cancel - cancel a job
 * @tag: in: the job's tag
 * @context_id: in: its context
 * @pad: in: zero
 *
 * FCs that have not started never run.  A running FC ends normally, unless it still executes after
 * the module's stop_grace_ms: then the device stops it.  After that the job ends with -ECANCELED.
 * Fails with ENOENT if no such job is in flight.
 */
struct drm_overtake_cancel {
	__u64 tag;
	__u32 context_id;
	__u32 pad;
};

#define OVERTAKE_WAIT_ANY		(1u << 0)	/* collect the job that ended first */

/**
 * struct drm_overtake_wait - wait for a job that was submitted through ioctl, and collect it
 * @tag: in: the job's tag; zero with OVERTAKE_WAIT_ANY
 * @deadline_ns: in: absolute CLOCK_MONOTONIC time
 * @context_id: in: its context
 * @flags: in: OVERTAKE_WAIT_ANY
 * @result: out: the result of the job
 *
 * Fails with ETIMEDOUT at the deadline, with ENOENT if there is no such job (OVERTAKE_WAIT_ANY: no
 * job at all that is not collected), and with ENODEV instead if the device is gone.  ENOSPC:
 * OVERTAKE_MAX_WAITERS threads sleep in calls of the context already.  A job can be collected when
 * it is delivered: its fence is signalled, and CPU access to its imports has ended.  The error of
 * the job is in @result.status, not in the return value of the call.
 */
struct drm_overtake_wait {
	__u64 tag;
	__s64 deadline_ns;
	__u32 context_id;
	__u32 flags;
	struct overtake_result result;
};

#define DRM_IOCTL_OVERTAKE_QUERY \
	OVERTAKE_IOWR(DRM_OVERTAKE_QUERY, struct drm_overtake_query)
#define DRM_IOCTL_OVERTAKE_BO_CREATE \
	OVERTAKE_IOWR(DRM_OVERTAKE_BO_CREATE, struct drm_overtake_bo_create)
#define DRM_IOCTL_OVERTAKE_BO_MMAP_OFFSET \
	OVERTAKE_IOWR(DRM_OVERTAKE_BO_MMAP_OFFSET, struct drm_overtake_bo_mmap_offset)
#define DRM_IOCTL_OVERTAKE_BO_MAP \
	OVERTAKE_IOWR(DRM_OVERTAKE_BO_MAP, struct drm_overtake_bo_map)
#define DRM_IOCTL_OVERTAKE_BO_UNMAP \
	OVERTAKE_IOW(DRM_OVERTAKE_BO_UNMAP, struct drm_overtake_bo_unmap)
#define DRM_IOCTL_OVERTAKE_BO_WAIT \
	OVERTAKE_IOW(DRM_OVERTAKE_BO_WAIT, struct drm_overtake_bo_wait)
#define DRM_IOCTL_OVERTAKE_CONTEXT_CREATE \
	OVERTAKE_IOWR(DRM_OVERTAKE_CONTEXT_CREATE, struct drm_overtake_context_create)
#define DRM_IOCTL_OVERTAKE_CONTEXT_DESTROY \
	OVERTAKE_IOW(DRM_OVERTAKE_CONTEXT_DESTROY, struct drm_overtake_context_destroy)
#define DRM_IOCTL_OVERTAKE_SUBMIT \
	OVERTAKE_IOW(DRM_OVERTAKE_SUBMIT, struct drm_overtake_submit)
#define DRM_IOCTL_OVERTAKE_CANCEL \
	OVERTAKE_IOW(DRM_OVERTAKE_CANCEL, struct drm_overtake_cancel)
#define DRM_IOCTL_OVERTAKE_WAIT \
	OVERTAKE_IOWR(DRM_OVERTAKE_WAIT, struct drm_overtake_wait)

#if defined(__cplusplus)
}
#endif

#include "overtake_accel_cores.h"
#include "overtake_accel_groups.h"
#include "overtake_accel_record.h"
#include "overtake_accel_task.h"

#endif
