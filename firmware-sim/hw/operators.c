// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Runs an instruction unit by unit, and has the arithmetic that all units share. */
#include "hw/operator_units.h"

#define ELEMENTWISE_RUN	4096u
/* Greatest run of operators that count 16 for an element, which may be on a page of its own. */
#define GATHER_RUN	512u
#define FLOAT_RUN	1024u

struct operator {
	ovt_unit_function *unit;
	u32 run;	/* greatest number of channels of a unit */
	u32 wide_run;	/* the number if the input has 16 bits; 0: @run */
};

static const struct operator operators[OVERTAKE_OP_COUNT] = {
	[OVERTAKE_OP_CONV] = { ovt_unit_conv, OVT_UNIT_CHANNELS },
	[OVERTAKE_OP_DEPTHWISE] = { ovt_unit_depthwise, OVT_UNIT_CHANNELS },
	[OVERTAKE_OP_MATMUL] = { ovt_unit_matmul, OVT_UNIT_CHANNELS },
	[OVERTAKE_OP_ADD] = { ovt_unit_add, ELEMENTWISE_RUN },
	[OVERTAKE_OP_MAX_POOL] = { ovt_unit_max_pool, OVT_UNIT_CHANNELS },
	[OVERTAKE_OP_AVERAGE_POOL] = { ovt_unit_average_pool, OVT_UNIT_CHANNELS },
	[OVERTAKE_OP_TABLE] = { ovt_unit_table, ELEMENTWISE_RUN, GATHER_RUN },
	[OVERTAKE_OP_COPY] = { ovt_unit_copy, ELEMENTWISE_RUN },
	[OVERTAKE_OP_SUB] = { ovt_unit_sub, ELEMENTWISE_RUN },
	[OVERTAKE_OP_MUL] = { ovt_unit_mul, ELEMENTWISE_RUN },
	[OVERTAKE_OP_MAX] = { ovt_unit_max, ELEMENTWISE_RUN },
	[OVERTAKE_OP_MIN] = { ovt_unit_min, ELEMENTWISE_RUN },
	[OVERTAKE_OP_REQUANTISE] = { ovt_unit_requantise, ELEMENTWISE_RUN },
	[OVERTAKE_OP_TRANSPOSED_CONV] = { ovt_unit_transposed_conv, OVT_UNIT_CHANNELS },
	[OVERTAKE_OP_PAD] = { ovt_unit_pad, ELEMENTWISE_RUN },
	[OVERTAKE_OP_PERMUTE] = { ovt_unit_permute, GATHER_RUN },
	[OVERTAKE_OP_DEPTH_TO_SPACE] = { ovt_unit_depth_to_space, GATHER_RUN },
	[OVERTAKE_OP_SPACE_TO_DEPTH] = { ovt_unit_space_to_depth, GATHER_RUN },
	[OVERTAKE_OP_RESIZE_NEAREST] = { ovt_unit_resize_nearest, ELEMENTWISE_RUN },
	[OVERTAKE_OP_RESIZE_BILINEAR] = { ovt_unit_resize_bilinear, ELEMENTWISE_RUN },
	[OVERTAKE_OP_REDUCE_SUM] = { ovt_unit_reduce_sum, OVT_UNIT_CHANNELS },
	[OVERTAKE_OP_REDUCE_MAX] = { ovt_unit_reduce_max, OVT_UNIT_CHANNELS },
	[OVERTAKE_OP_REDUCE_MIN] = { ovt_unit_reduce_min, OVT_UNIT_CHANNELS },
	[OVERTAKE_OP_QUANTISE] = { ovt_unit_quantise, FLOAT_RUN },
	[OVERTAKE_OP_DEQUANTISE] = { ovt_unit_dequantise, FLOAT_RUN },
	[OVERTAKE_OP_NV12] = { ovt_unit_nv12, OVT_UNIT_CHANNELS },
};

/*
 * Adds half, less one unit where the quotient is even, and rounds down.  It has no branch, since
 * the direction of rounding is as good as random.  Values are below 2^62 + 2^56, and so is half.
 */
s64 ovt_round_shift(s64 value, u32 shift)
{
	if (shift < OVERTAKE_SHIFT_MIN)
		shift = OVERTAKE_SHIFT_MIN;
	if (shift > OVERTAKE_SHIFT_MAX)
		shift = OVERTAKE_SHIFT_MAX;
	return (value + (1ll << (shift - 1)) - 1 + (value >> shift & 1)) >> shift;
}

/* A client may change parameters at any time: values out of range have a defined result, too. */
s64 ovt_requantise(s64 acc, u32 multiplier, u32 shift)
{
	return ovt_round_shift(acc * (multiplier & OVERTAKE_MULTIPLIER_MAX), shift);
}

bool ovt_operator_run(const struct overtake_insn *insn, const struct ovt_operands *operands,
		      struct ovt_cursor *cursor, s64 *work)
{
	const struct operator *operator;
	u32 segment, run, left;
	s64 spent;

	if (insn->opcode >= OVERTAKE_OP_COUNT)
		return true;
	operator = &operators[ovt_index_nospec((u32)insn->opcode, OVERTAKE_OP_COUNT)];
	if (!operator->unit)
		return true;
	/* A unit of CONV stays in its group. */
	segment = insn->groups ? insn->out.channels / insn->groups : insn->out.channels;
	run = insn->in[0].type && operator->wide_run ? operator->wide_run : operator->run;
	do {
		left = segment - cursor->c % segment;
		if (left > run)
			left = run;
		spent = operator->unit(insn, operands, cursor, left);
		*work -= spent > OVT_UNIT_WORK_MIN ? spent : OVT_UNIT_WORK_MIN;
		if (!cursor->row && !cursor->column && !ovt_cursor_next(insn, cursor, left))
			return true;
	} while (*work > 0);
	return false;
}
