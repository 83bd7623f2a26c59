// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The devices that can be modelled, and the cost of an instruction on them. */
#include "hw/profile.h"
#include "hw/decode.h"

#define NS_PER_MS	1000000u
#define PROFILE_COUNT	4u

static const struct ovt_profile profiles[PROFILE_COUNT] = {
	{
		.name = "default",
		.clock_khz = 1000000,
		.macs_per_cycle = 256,
		.vector_per_cycle = 64,
		.bytes_per_cycle = 32,
		.insn_overhead_cycles = 200,
		.fc_overhead_cycles = 1000,
		.sync_cycles = 500,
	},
	{
		.name = "ideal",
		.clock_khz = 1000000,
		.macs_per_cycle = 256,
		.vector_per_cycle = 64,
		.bytes_per_cycle = 32,
	},
	{
		.name = "ethos-u65-512",
		.clock_khz = 1000000,
		.macs_per_cycle = 512,
		.vector_per_cycle = 64,
		.bytes_per_cycle = 32,
		.insn_overhead_cycles = 200,
		.fc_overhead_cycles = 1000,
		.sync_cycles = 500,
	},
	{
		.name = "rk3588-core",
		.clock_khz = 1000000,
		.macs_per_cycle = 1024,
		.vector_per_cycle = 64,
		.bytes_per_cycle = 32,
		.insn_overhead_cycles = 200,
		.fc_overhead_cycles = 1000,
		.sync_cycles = 500,
	},
};

const struct ovt_profile *ovt_profile_at(u32 index)
{
	return index < PROFILE_COUNT ? &profiles[index] : NULL;
}

const struct ovt_profile *ovt_profile_find(const char *name)
{
	const struct ovt_profile *profile;
	u32 index;

	for (index = 0; (profile = ovt_profile_at(index)); index++) {
		if (!strcmp(profile->name, name))
			return profile;
	}
	return NULL;
}

static u64 divide_up(u64 dividend, u32 divisor)
{
	return dividend / divisor + !!(dividend % divisor);
}

/* The decoder's limit on a tensor's bytes keeps this at most 2^40. */
static u64 elements(const struct overtake_operand *operand)
{
	return (u64)operand->height * operand->width * operand->channels;
}

/* Returns the greatest number of taps of a transposed convolution that reach one output: 2^17. */
static u32 taps_reaching(const struct overtake_insn *insn)
{
	return (u32)divide_up(insn->kernel_height, insn->stride_height) *
	       (u32)divide_up(insn->kernel_width, insn->stride_width);
}

/* Operations of a vector unit for one output element, or for one input element of a reduction. */
#define BILINEAR_OPERATIONS	4
#define PICTURE_OPERATIONS	8

/*
 * Returns how often an operation occupies its unit: multipliers take a byte of each factor at once,
 * and a vector has half as many elements of 16 bits.
 */
static u32 operation_width(const struct overtake_insn *insn)
{
	switch (insn->opcode) {
	case OVERTAKE_OP_CONV:
	case OVERTAKE_OP_TRANSPOSED_CONV:
		return ovt_element_bytes(&insn->in[0]);
	case OVERTAKE_OP_MATMUL:
		return ovt_element_bytes(&insn->in[0]) * ovt_element_bytes(&insn->in[1]);
	default:
		return ovt_insn_is_wide(insn) ? 2 : 1;
	}
}

static u64 operation_count(const struct overtake_insn *insn)
{
	u64 outputs = elements(&insn->out);
	u32 positions = (u32)insn->kernel_height * insn->kernel_width;

	switch (insn->opcode) {
	case OVERTAKE_OP_CONV:
		return outputs * positions * (insn->in[0].channels / insn->groups);
	case OVERTAKE_OP_TRANSPOSED_CONV:
		return outputs * taps_reaching(insn) * (insn->in[0].channels / insn->groups);
	case OVERTAKE_OP_MATMUL:
		return outputs * insn->in[0].channels;
	case OVERTAKE_OP_DEPTHWISE:
	case OVERTAKE_OP_MAX_POOL:
	case OVERTAKE_OP_AVERAGE_POOL:
		return outputs * positions;
	case OVERTAKE_OP_REDUCE_SUM:
	case OVERTAKE_OP_REDUCE_MAX:
	case OVERTAKE_OP_REDUCE_MIN:
		return elements(&insn->in[0]);
	case OVERTAKE_OP_RESIZE_BILINEAR:
		return outputs * BILINEAR_OPERATIONS;
	case OVERTAKE_OP_NV12:
		return outputs * PICTURE_OPERATIONS;
	default:
		return outputs;
	}
}

/* Counts operations: at most 2^40 outputs of 2^17 products each, or of 2^15 that count 4 times. */
static u64 operations(const struct overtake_insn *insn)
{
	return operation_count(insn) * operation_width(insn);
}

static u32 operations_per_cycle(const struct ovt_profile *profile, u32 opcode)
{
	switch (opcode) {
	case OVERTAKE_OP_CONV:
	case OVERTAKE_OP_TRANSPOSED_CONV:
	case OVERTAKE_OP_MATMUL:
		return profile->macs_per_cycle;
	default:
		return profile->vector_per_cycle;
	}
}

/* Returns the bytes of in[index] that are read: a resize reads no pixels between its positions. */
static u64 input_bytes(const struct overtake_insn *insn, u32 index)
{
	u64 all = elements(&insn->in[index]);
	u64 looked_at = (u64)insn->out.height * insn->out.width * insn->in[index].channels * 4;

	switch (insn->opcode) {
	case OVERTAKE_OP_QUANTISE:
		return all * sizeof(u32);
	case OVERTAKE_OP_RESIZE_NEAREST:
	case OVERTAKE_OP_RESIZE_BILINEAR:
	case OVERTAKE_OP_NV12:
		all = looked_at < all ? looked_at : all;
		break;
	}
	return all * ovt_element_bytes(&insn->in[index]);
}

/* Returns the bytes that are written; an unused operand has no elements. */
static u64 output_bytes(const struct overtake_insn *insn)
{
	return elements(&insn->out) * (insn->opcode == OVERTAKE_OP_DEQUANTISE ?
				       sizeof(u32) : ovt_element_bytes(&insn->out));
}

static u64 constant_bytes(const struct overtake_insn *insn)
{
	return ovt_insn_weights_bytes(insn) + ovt_insn_params_bytes(insn);
}

static u64 slower_part(const struct ovt_profile *profile, const struct overtake_insn *insn)
{
	u64 bytes = output_bytes(insn) + input_bytes(insn, 0) + input_bytes(insn, 1) +
		    constant_bytes(insn);
	u64 arithmetic = divide_up(operations(insn), operations_per_cycle(profile, insn->opcode));
	u64 traffic = divide_up(bytes, profile->bytes_per_cycle);

	return (arithmetic > traffic ? arithmetic : traffic) + profile->insn_overhead_cycles;
}

static u32 whole_blocks(u32 channels, u32 block)
{
	return (channels + block - 1) / block * block;
}

/* Counts whole tiles: a convolution also multiplies the weights that fill a tile.  At most 2^57. */
static u64 operations_in_tiles(const struct overtake_insn *insn)
{
	struct overtake_insn filled = *insn;

	if (insn->opcode == OVERTAKE_OP_CONV || insn->opcode == OVERTAKE_OP_TRANSPOSED_CONV) {
		filled.out.channels = insn->groups *
			whole_blocks(insn->out.channels / insn->groups, OVERTAKE_WEIGHT_BLOCK);
		filled.in[0].channels = insn->groups *
			whole_blocks(insn->in[0].channels / insn->groups, OVERTAKE_WEIGHT_INPUTS);
	}
	return operations(&filled);
}

/* At most 2^63 for a count of at most 2^57. */
static u64 at_rate(u64 count, u32 rate)
{
	u64 whole = count >> OVT_COST_BITS;
	u64 rest = count & ((1u << OVT_COST_BITS) - 1);

	return whole * rate + (rest * rate >> OVT_COST_BITS);
}

static u64 measured(const struct ovt_insn_cost *cost, const struct overtake_insn *insn)
{
	return cost->fixed_cycles + at_rate(operations_in_tiles(insn), cost->per_operation) +
	       at_rate(elements(&insn->out), cost->per_output) +
	       at_rate(input_bytes(insn, 0) + input_bytes(insn, 1), cost->per_input_byte) +
	       at_rate(constant_bytes(insn), cost->per_constant_byte);
}

static bool was_measured(const struct ovt_insn_cost *cost)
{
	return cost->fixed_cycles || cost->per_operation || cost->per_output ||
	       cost->per_input_byte || cost->per_constant_byte;
}

u64 ovt_insn_cycles(const struct ovt_profile *profile, const struct overtake_insn *insn)
{
	const struct ovt_insn_cost *cost = profile->costs ? &profile->costs[insn->opcode] : NULL;
	u64 cycles;

	if (insn->opcode == OVERTAKE_OP_DELAY)
		return insn->delay_cycles;
	if (cost && was_measured(cost))
		cycles = measured(cost, insn);
	else
		cycles = slower_part(profile, insn);
	return cycles ? cycles : 1;
}

u64 ovt_cycles_to_ns(const struct ovt_profile *profile, u64 cycles)
{
	u64 milliseconds = cycles / profile->clock_khz;
	u64 rest = cycles % profile->clock_khz;

	return milliseconds * NS_PER_MS + divide_up(rest * NS_PER_MS, profile->clock_khz);
}
