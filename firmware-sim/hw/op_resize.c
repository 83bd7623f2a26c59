// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* RESIZE_NEAREST and RESIZE_BILINEAR: a tensor sampled at other positions. */
#include "hw/operator_units.h"
#include "hw/sampling.h"

#define BILINEAR_WORK	4	/* elements of which one output element is made */

s64 ovt_unit_resize_nearest(const struct overtake_insn *insn, const struct ovt_operands *operands,
			    struct ovt_cursor *at, u32 count)
{
	s64 y = ovt_position(insn->start_y, insn->step_y, at->y, insn->in[0].height);
	s64 x = ovt_position(insn->start_x, insn->step_x, at->x, insn->in[0].width);

	memmove(ovt_output_at(insn, operands, at),
		ovt_input_at(insn, operands, 0, (u32)(y >> OVERTAKE_POSITION_BITS),
			     (u32)(x >> OVERTAKE_POSITION_BITS), at->c),
		count * ovt_element_bytes(&insn->out));
	return count;
}

/* Blends four elements of type @type.  Elements of 16 bits, weighted twice, need 32 bits. */
static inline s32 blend_four(const s8 *const corners[4], u32 type, u32 i, u32 right, u32 down)
{
	s64 first = ovt_blend(ovt_load(corners[0], type, i), ovt_load(corners[1], type, i), right);
	s64 second = ovt_blend(ovt_load(corners[2], type, i), ovt_load(corners[3], type, i), right);

	return (s32)ovt_round_shift(first * (OVT_FRACTION_ONE - down) + second * down,
				    OVT_SAMPLE_BITS);
}

s64 ovt_unit_resize_bilinear(const struct overtake_insn *insn, const struct ovt_operands *operands,
			     struct ovt_cursor *at, u32 count)
{
	struct ovt_sample y = ovt_sample_at(ovt_position(insn->start_y, insn->step_y, at->y,
							 insn->in[0].height));
	struct ovt_sample x = ovt_sample_at(ovt_position(insn->start_x, insn->step_x, at->x,
							 insn->in[0].width));
	const s8 *const corners[4] = {
		ovt_input_at(insn, operands, 0, y.first, x.first, at->c),
		ovt_input_at(insn, operands, 0, y.first, x.second, at->c),
		ovt_input_at(insn, operands, 0, y.second, x.first, at->c),
		ovt_input_at(insn, operands, 0, y.second, x.second, at->c),
	};
	s8 *out = ovt_output_at(insn, operands, at);
	u32 i;

	if (insn->out.type)
		for (i = 0; i < count; i++)
			ovt_store(out, OVERTAKE_TYPE_INT16, i,
				  blend_four(corners, OVERTAKE_TYPE_INT16, i, x.fraction,
					     y.fraction));
	else
		for (i = 0; i < count; i++)
			out[i] = (s8)blend_four(corners, OVERTAKE_TYPE_INT8, i, x.fraction,
						y.fraction);
	return (s64)BILINEAR_WORK * count;
}
