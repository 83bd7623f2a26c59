/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The expected time of a BPU segment that has not run yet, by the device's cycle model. */
#ifndef OVT_SERVICE_COST_H
#define OVT_SERVICE_COST_H

#include <ovt_port.h>
#include "fw/fw.h"
#include "hw/decode.h"
#include "hw/profile.h"
#include "overtake_accel.h"

/* Instructions of a segment that are looked at; the rest are expected to cost as much. */
#define OVT_COST_MAX_INSNS	65536u

/* Longest time that a segment is expected to take. */
#define OVT_COST_MAX_MS		60000u

/**
 * struct ovt_cost - the price of a segment, while it is computed; all fields are ovt_cost_*()'s
 *
 * It is computed step by step, so that a host may let others go on between two steps:
 *
 *	ovt_cost_begin(&cost, profile, regions, fcs, fc_count)
 *	while (ovt_cost_step(&cost, steps))
 *		...
 *	ovt_cost_ns(&cost)
 */
struct ovt_cost {
	const struct ovt_profile *profile;
	const struct ovt_region *regions;
	const struct overtake_fc *fcs;
	u32 fc_count;
	u32 fc;
	u32 insn;
	u64 insns;
	u64 looked_at;
	u64 cycles;

	const struct ovt_fw_group *group;	/* NULL: no group, and the rest is unused */
	u32 next[OVERTAKE_MAX_CORES];		/* next FC of each part */
	u32 part;
	u32 stage;
	u64 fc_cycles;
	u64 part_cycles;		/* cycles of @part in @stage */
	u64 longest;			/* longest part in @stage, with the sync before it */
	bool works;			/* @part has an FC in @stage */
	u32 workers;			/* parts so far that have an FC in @stage */
	u32 worker;			/* the last of these parts */
	u32 ahead;			/* the only part in the stage before; part_count: none */
	u64 alone;			/* cycles of all stages before */
};

/* Begins with a job; @regions and @fcs stay until the price is known. */
void ovt_cost_begin(struct ovt_cost *cost, const struct ovt_profile *profile,
		    const struct ovt_region *regions, const struct overtake_fc *fcs, u32 fc_count);

/* Begins with a group, whose price is its time without other work.  Its arrays stay as well. */
void ovt_cost_begin_group(struct ovt_cost *cost, const struct ovt_profile *profile,
			  const struct ovt_region *regions, const struct ovt_fw_group *group);

/* Takes @steps steps, each for an FC, an instruction or a part.  Returns true if there are more. */
bool ovt_cost_step(struct ovt_cost *cost, u32 steps);

u64 ovt_cost_ns(const struct ovt_cost *cost);

/*
 * ovt_segment_cost_ns - device time of @fcs, each instruction once
 * @regions: OVERTAKE_MAX_REGIONS entries of the job
 *
 * An instruction that would fault costs nothing; the instructions behind it are priced.
 */
u64 ovt_segment_cost_ns(const struct ovt_profile *profile, const struct ovt_region *regions,
			const struct overtake_fc *fcs, u32 fc_count);

/* ovt_segment_cost_ns() for a group. */
u64 ovt_group_cost_ns(const struct ovt_profile *profile, const struct ovt_region *regions,
		      const struct ovt_fw_group *group);

#endif
