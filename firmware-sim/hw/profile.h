/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The numbers of a device, and the cycle model that follows from them.
 *
 * The same model prices an instruction for the core that executes it and for the
 * compiler that splits a network into FCs; clients never say what work costs.
 */
#ifndef OVT_HW_PROFILE_H
#define OVT_HW_PROFILE_H

#include <ovt_port.h>
#include "overtake_isa.h"

/**
 * struct ovt_profile - the numbers of a device
 * @name: stable, as users give it
 * @clock_khz: cycles per millisecond
 * @macs_per_cycle: multiply-accumulates per cycle (CONV, MATMUL)
 * @vector_per_cycle: elements per cycle of everything else (DEPTHWISE MACs included)
 * @bytes_per_cycle: memory traffic per cycle
 * @insn_overhead_cycles: fixed cost of an instruction other than DELAY
 * @fc_overhead_cycles: fixed cost of an FC
 */
struct ovt_profile {
	const char *name;
	u32 clock_khz;
	u32 macs_per_cycle;
	u32 vector_per_cycle;
	u32 bytes_per_cycle;
	u32 insn_overhead_cycles;
	u32 fc_overhead_cycles;
};

/* "default" models a small NPU; "ideal" has no overheads, for exact scenarios. */
const struct ovt_profile *ovt_profile_find(const char *name);
const struct ovt_profile *ovt_profile_at(u32 index);	/* NULL past the last */

/*
 * ovt_insn_cycles - cycles that @insn occupies a core
 *
 * The slower of arithmetic and memory traffic, plus the overhead.  @insn has passed
 * ovt_insn_check().  At least 1.
 */
u64 ovt_insn_cycles(const struct ovt_profile *profile, const struct overtake_insn *insn);

/* Device time that @cycles take, rounded up; 64-bit safe for a year of cycles. */
u64 ovt_cycles_to_ns(const struct ovt_profile *profile, u64 cycles);

#endif
