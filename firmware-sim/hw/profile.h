/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Profiles: the numbers of a device, and the cycle model that follows from them.
 *
 * The same model prices an instruction for the core that executes it and for the
 * compiler that splits a network into FCs; clients never state the cost of work.
 */
#ifndef OVT_HW_PROFILE_H
#define OVT_HW_PROFILE_H

#include <ovt_port.h>
#include "overtake_isa.h"

/*
 * Rates of struct ovt_insn_cost are in 2^-OVT_COST_BITS cycles and at most OVT_COST_MAX, so
 * that no sum overflows.
 */
#define OVT_COST_BITS	16
#define OVT_COST_MAX	(1u << 22)

/**
 * struct ovt_insn_cost - the cost of one opcode on a device that was measured
 * @fixed_cycles: for each instruction, at most 2^32 - 1
 * @per_operation: for each multiply-accumulate or other operation of the arithmetic table in
 *	docs/reference/isa.md; operations of CONV and TRANSPOSED_CONV count whole tiles of weights
 * @per_output: for each element of the output
 * @per_input_byte: for each byte read from inputs
 * @per_constant_byte: for each byte of weights, table and parameters
 *
 * An instruction costs the sum of all.  All zeroes: the opcode was not measured.
 */
struct ovt_insn_cost {
	u32 fixed_cycles;
	u32 per_operation;
	u32 per_output;
	u32 per_input_byte;
	u32 per_constant_byte;
};

/**
 * struct ovt_profile - the numbers of a device
 * @name: the stable name by which users choose it
 * @clock_khz: cycles per millisecond
 * @macs_per_cycle: multiply-accumulates per cycle (CONV, MATMUL)
 * @vector_per_cycle: elements per cycle of everything else (DEPTHWISE MACs included)
 * @bytes_per_cycle: memory traffic per cycle
 * @insn_overhead_cycles: fixed cost of an instruction other than DELAY
 * @fc_overhead_cycles: fixed cost of an FC
 * @sync_cycles: from the end of a stage of a group to the start of the next one on other cores
 * @costs: NULL, or OVERTAKE_OP_COUNT costs by opcode, which replace the formula of the numbers
 *	above for each opcode that was measured; they outlive the profile
 * @without: opcodes that cores of the device lack, a bit for each
 */
struct ovt_profile {
	const char *name;
	u32 clock_khz;
	u32 macs_per_cycle;
	u32 vector_per_cycle;
	u32 bytes_per_cycle;
	u32 insn_overhead_cycles;
	u32 fc_overhead_cycles;
	u64 sync_cycles;
	const struct ovt_insn_cost *costs;
	u64 without;
};

/* Returns true if cores of @profile lack @opcode; false for an opcode that does not exist. */
static inline bool ovt_profile_lacks(const struct ovt_profile *profile, u32 opcode)
{
	return opcode < OVERTAKE_OP_COUNT && (profile->without >> opcode & 1);
}

/* Built-in profiles, by name and by index.  docs/design/profiles.md names their sources. */
const struct ovt_profile *ovt_profile_find(const char *name);
const struct ovt_profile *ovt_profile_at(u32 index);	/* NULL past the last */

/*
 * ovt_insn_cycles - number of cycles for which @insn occupies a core
 *
 * Returns the slower of arithmetic and memory traffic, plus the overhead; or the sum of @profile's
 * costs of its opcode.  @insn has passed ovt_insn_check().  At least 1.
 */
u64 ovt_insn_cycles(const struct ovt_profile *profile, const struct overtake_insn *insn);

/* Returns the device time that @cycles take, rounded up; 64-bit safe for a year of cycles. */
u64 ovt_cycles_to_ns(const struct ovt_profile *profile, u64 cycles);

#endif
