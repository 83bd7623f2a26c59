/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/* A part of the driver's user interface, overtake_accel.h: jobs with parts on several cores. */
#ifndef OVERTAKE_ACCEL_GROUPS_H
#define OVERTAKE_ACCEL_GROUPS_H

#include "overtake_accel.h"

#if defined(__cplusplus)
extern "C" {
#endif

#define OVERTAKE_MAX_STAGES		4096u	/* per group */

/**
 * struct overtake_part - the part of a group on one core
 * @fc_count: in: number of its FCs, at least 1; in @fcs of the submission they follow the FCs of
 *            the part before
 * @core: in: 1..core_count, a different core for each part; or OVERTAKE_CORE_ANY for all parts
 */
struct overtake_part {
	__u32 fc_count;
	__u32 core;
};

/**
 * struct overtake_extension_parts - the job is a group: it has a part for each of several cores
 * @base: in: its type is OVERTAKE_EXTENSION_PARTS
 * @parts: in: user pointer to struct overtake_part[@part_count]
 * @stages: in: user pointer to __u32[fc_count of the job]: the stage of each FC, from 0, never
 *          less than the stage of the FC before it in its part; each stage has an FC
 * @record: in: device address of a struct overtake_group_record with @part_count parts, in
 *          mapped writable memory, 8-byte aligned; or 0
 * @part_count: in: 1..core_count
 * @stage_count: in: 1..OVERTAKE_MAX_STAGES (E2BIG)
 *
 * All parts arrive at once, each on its core.  They go through the stages together: a stage opens
 * when the stage before has ended in all parts.  It opens at once for a part that alone had FCs in
 * the ended stage, and the device's synchronisation time later for every other part.  If no part
 * names a core, part i takes the core that comes i-th in order of (unfinished FCs, number).
 *
 * The job names no core, and has no struct overtake_extension_placement (EINVAL).  Its FCs are the
 * FCs of all parts.  A group is one job in every other respect: one fence, one completion, one
 * result.  @executed_ns of the result is the sum over all parts, and @core is the core of part 0.
 * If an FC of the group faults or hangs, or its core is reset, no other FC of the group starts, and
 * the job ends with the last FC that runs.  A @record that cannot be written is refused as @result
 * of the job is.  The extension exists since version 1.2 of the driver.
 */
struct overtake_extension_parts {
	struct overtake_extension base;
	__u64 parts;
	__u64 stages;
	__u64 record;
	__u32 part_count;
	__u32 stage_count;
};

/**
 * struct overtake_part_record - the result of one part
 * @start_ns: out: device time when its first FC began, or 0
 * @end_ns: out: device time when its last FC that ran ended, or 0
 * @executed_ns: out: device time that its FCs took
 * @core: out: its core, from 1; 0 if no core took it
 * @fcs_done: out: number of its FCs that ended
 * @preemptions: out: number of pairs of its neighbouring FCs between which a HIGH FC ran on its
 *               core
 * @pad: out: zero
 */
struct overtake_part_record {
	__u64 start_ns;
	__u64 end_ns;
	__u64 executed_ns;
	__u32 core;
	__u32 fcs_done;
	__u32 preemptions;
	__u32 pad;
};

/**
 * struct overtake_group_record - the result of a group, by part; written before its fence signals
 * @alone_ns: out: device time that the executed FCs take on cores without other work: the sum, over
 *            all stages, of the longest part in the stage and the synchronisation time before it
 * @part_count: out: number of parts of the job
 * @part_bytes: out: bytes from the start of one part's record to the start of the next
 *
 * @part_count times struct overtake_part_record follow this structure in memory.
 */
struct overtake_group_record {
	__u64 alone_ns;
	__u32 part_count;
	__u32 part_bytes;
};

#if defined(__cplusplus)
}
#endif

#endif
