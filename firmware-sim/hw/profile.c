// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The devices that can be modelled, and what an instruction costs on them. */
#include "hw/profile.h"
#include "hw/decode.h"

#define NS_PER_MS	1000000u
#define PROFILE_COUNT	2u

static const struct ovt_profile profiles[PROFILE_COUNT] = {
	{
		.name = "default",
		.clock_khz = 1000000,
		.macs_per_cycle = 256,
		.vector_per_cycle = 64,
		.bytes_per_cycle = 32,
		.insn_overhead_cycles = 200,
		.fc_overhead_cycles = 1000,
	},
	{
		.name = "ideal",
		.clock_khz = 1000000,
		.macs_per_cycle = 256,
		.vector_per_cycle = 64,
		.bytes_per_cycle = 32,
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

/* Taps of a transposed convolution that reach one output, at most: 2^17. */
static u32 taps_reaching(const struct overtake_insn *insn)
{
	return (u32)divide_up(insn->kernel_height, insn->stride_height) *
	       (u32)divide_up(insn->kernel_width, insn->stride_width);
}

/* Operations of a vector unit for one output element, or for one input element of a reduction. */
#define BILINEAR_OPERATIONS	4
#define PICTURE_OPERATIONS	8

/* At most 2^40 outputs of 2^17 products each. */
static u64 arithmetic_cycles(const struct ovt_profile *profile, const struct overtake_insn *insn)
{
	u64 outputs = elements(&insn->out);
	u32 positions = (u32)insn->kernel_height * insn->kernel_width;

	switch (insn->opcode) {
	case OVERTAKE_OP_CONV:
		return divide_up(outputs * positions * (insn->in[0].channels / insn->groups),
				 profile->macs_per_cycle);
	case OVERTAKE_OP_TRANSPOSED_CONV:
		return divide_up(outputs * taps_reaching(insn) *
				 (insn->in[0].channels / insn->groups), profile->macs_per_cycle);
	case OVERTAKE_OP_MATMUL:
		return divide_up(outputs * insn->in[0].channels, profile->macs_per_cycle);
	case OVERTAKE_OP_DEPTHWISE:
	case OVERTAKE_OP_MAX_POOL:
	case OVERTAKE_OP_AVERAGE_POOL:
		return divide_up(outputs * positions, profile->vector_per_cycle);
	case OVERTAKE_OP_REDUCE_SUM:
	case OVERTAKE_OP_REDUCE_MAX:
	case OVERTAKE_OP_REDUCE_MIN:
		return divide_up(elements(&insn->in[0]), profile->vector_per_cycle);
	case OVERTAKE_OP_RESIZE_BILINEAR:
		return divide_up(outputs * BILINEAR_OPERATIONS, profile->vector_per_cycle);
	case OVERTAKE_OP_NV12:
		return divide_up(outputs * PICTURE_OPERATIONS, profile->vector_per_cycle);
	default:
		return divide_up(outputs, profile->vector_per_cycle);
	}
}

/* Bytes of in[index] that are read: a resize leaves out what lies between its positions. */
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
		return looked_at < all ? looked_at : all;
	default:
		return all;
	}
}

/* Every tensor once: an unused operand has no elements. */
static u64 traffic_cycles(const struct ovt_profile *profile, const struct overtake_insn *insn)
{
	u64 output = elements(&insn->out) *
		     (insn->opcode == OVERTAKE_OP_DEQUANTISE ? sizeof(u32) : 1);
	u64 bytes = output + input_bytes(insn, 0) + input_bytes(insn, 1) +
		    ovt_insn_weights_bytes(insn) + ovt_insn_params_bytes(insn);

	return divide_up(bytes, profile->bytes_per_cycle);
}

u64 ovt_insn_cycles(const struct ovt_profile *profile, const struct overtake_insn *insn)
{
	u64 arithmetic, traffic, cycles;

	if (insn->opcode == OVERTAKE_OP_DELAY)
		return insn->delay_cycles;
	arithmetic = arithmetic_cycles(profile, insn);
	traffic = traffic_cycles(profile, insn);
	cycles = (arithmetic > traffic ? arithmetic : traffic) + profile->insn_overhead_cycles;
	return cycles ? cycles : 1;
}

u64 ovt_cycles_to_ns(const struct ovt_profile *profile, u64 cycles)
{
	u64 milliseconds = cycles / profile->clock_khz;
	u64 rest = cycles % profile->clock_khz;

	return milliseconds * NS_PER_MS + divide_up(rest * NS_PER_MS, profile->clock_khz);
}
