// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* REDUCE_SUM, REDUCE_MAX and REDUCE_MIN: one element for all those along the axes reduced. */
#include "hw/operator_units.h"

enum reduction { SUM, GREATEST, LEAST };

static inline s32 reduce(enum reduction how, s32 result, s32 value)
{
	switch (how) {
	case GREATEST:
		return value > result ? value : result;
	case LEAST:
		return value < result ? value : result;
	default:
		return result + value;
	}
}

/* The elements of one input pixel into the results; all into one when channels are reduced. */
static inline void reduce_pixel(const struct overtake_insn *insn, const s8 *in, s32 *results,
				u32 count, enum reduction how)
{
	s32 zero_point = insn->in[0].zero_point;
	s32 result = results[0];
	u32 i;

	if (insn->axes & OVERTAKE_AXIS_CHANNELS) {
		for (i = 0; i < insn->in[0].channels; i++)
			result = reduce(how, result, in[i] - zero_point);
		results[0] = result;
		return;
	}
	for (i = 0; i < count; i++)
		results[i] = reduce(how, results[i], in[i] - zero_point);
}

/* Results without zero point: at most 2^17 elements of at most 255 a sum.  Returns the work. */
static inline s64 reduce_all(const struct overtake_insn *insn, const struct ovt_operands *operands,
			     const struct ovt_cursor *at, s32 *results, u32 count,
			     enum reduction how)
{
	u32 rows = insn->axes & OVERTAKE_AXIS_HEIGHT ? insn->in[0].height : 1;
	u32 columns = insn->axes & OVERTAKE_AXIS_WIDTH ? insn->in[0].width : 1;
	u32 elements = insn->axes & OVERTAKE_AXIS_CHANNELS ? insn->in[0].channels : count;
	u32 y, x;

	/* A reduced axis of the output has length 1, so there the cursor is 0. */
	for (y = 0; y < rows; y++) {
		for (x = 0; x < columns; x++)
			reduce_pixel(insn, ovt_input_at(insn, operands, 0, at->y + y, at->x + x,
							at->c), results, count, how);
	}
	if (elements < OVT_UNIT_CHANNELS)
		elements = OVT_UNIT_CHANNELS;
	return (s64)rows * columns * elements;
}

s64 ovt_unit_reduce_sum(const struct overtake_insn *insn, const struct ovt_operands *operands,
			const struct ovt_cursor *at, u32 count)
{
	s32 results[OVT_UNIT_CHANNELS] = { 0 };
	s64 work = reduce_all(insn, operands, at, results, count, SUM);
	s8 *out = ovt_output_at(insn, operands, at);
	u32 i;

	for (i = 0; i < count; i++)
		out[i] = ovt_clamp(insn, ovt_requantise(results[i], insn->multiplier[0],
							insn->shift[0]) + insn->out.zero_point);
	return work;
}

/* Out of the range of a difference of bytes. */
#define BELOW_ALL	(-256)
#define ABOVE_ALL	256

static inline s64 reduce_extreme(const struct overtake_insn *insn,
				 const struct ovt_operands *operands, const struct ovt_cursor *at,
				 u32 count, enum reduction how)
{
	s8 *out = ovt_output_at(insn, operands, at);
	s32 results[OVT_UNIT_CHANNELS];
	s64 work;
	u32 i;

	for (i = 0; i < count; i++)
		results[i] = how == GREATEST ? BELOW_ALL : ABOVE_ALL;
	work = reduce_all(insn, operands, at, results, count, how);
	for (i = 0; i < count; i++)
		out[i] = ovt_clamp(insn, results[i] + insn->out.zero_point);
	return work;
}

s64 ovt_unit_reduce_max(const struct overtake_insn *insn, const struct ovt_operands *operands,
			const struct ovt_cursor *at, u32 count)
{
	return reduce_extreme(insn, operands, at, count, GREATEST);
}

s64 ovt_unit_reduce_min(const struct overtake_insn *insn, const struct ovt_operands *operands,
			const struct ovt_cursor *at, u32 count)
{
	return reduce_extreme(insn, operands, at, count, LEAST);
}
