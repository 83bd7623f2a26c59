// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* RESIZE_NEAREST and RESIZE_BILINEAR: a tensor looked at from other positions. */
#include "hw/operator_units.h"
#include "hw/sampling.h"

#define BILINEAR_WORK	4	/* elements that one output element is made of */

s64 ovt_unit_resize_nearest(const struct overtake_insn *insn, const struct ovt_operands *operands,
			    struct ovt_cursor *at, u32 count)
{
	s64 y = ovt_position(insn->start_y, insn->step_y, at->y, insn->in[0].height);
	s64 x = ovt_position(insn->start_x, insn->step_x, at->x, insn->in[0].width);

	memmove(ovt_output_at(insn, operands, at),
		ovt_input_at(insn, operands, 0, (u32)(y >> OVERTAKE_POSITION_BITS),
			     (u32)(x >> OVERTAKE_POSITION_BITS), at->c), count);
	return count;
}

s64 ovt_unit_resize_bilinear(const struct overtake_insn *insn, const struct ovt_operands *operands,
			     struct ovt_cursor *at, u32 count)
{
	struct ovt_sample y = ovt_sample_at(ovt_position(insn->start_y, insn->step_y, at->y,
							 insn->in[0].height));
	struct ovt_sample x = ovt_sample_at(ovt_position(insn->start_x, insn->step_x, at->x,
							 insn->in[0].width));
	const s8 *above = ovt_input_at(insn, operands, 0, y.first, x.first, at->c);
	const s8 *above_right = ovt_input_at(insn, operands, 0, y.first, x.second, at->c);
	const s8 *below = ovt_input_at(insn, operands, 0, y.second, x.first, at->c);
	const s8 *below_right = ovt_input_at(insn, operands, 0, y.second, x.second, at->c);
	s8 *out = ovt_output_at(insn, operands, at);
	u32 i;

	for (i = 0; i < count; i++) {
		s32 first = ovt_blend(above[i], above_right[i], x.fraction);
		s32 second = ovt_blend(below[i], below_right[i], x.fraction);

		out[i] = (s8)ovt_round_shift(ovt_blend(first, second, y.fraction),
					     OVT_SAMPLE_BITS);
	}
	return (s64)BILINEAR_WORK * count;
}
