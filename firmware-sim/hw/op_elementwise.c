// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* ADD, TABLE and COPY: each output element depends on the same element of the inputs. */
#include "hw/operator_units.h"

s64 ovt_unit_add(const struct overtake_insn *insn, const struct ovt_operands *operands,
		 const struct ovt_cursor *at, u32 count)
{
	const s8 *a = ovt_input_at(insn, operands, 0, at->y, at->x, at->c);
	const s8 *b = ovt_input_at(insn, operands, 1, at->y, at->x, at->c);
	s8 *out = ovt_output_at(insn, operands, at);
	u32 i;

	for (i = 0; i < count; i++) {
		s64 sum = (s64)(a[i] - insn->in[0].zero_point) * insn->multiplier[0] +
			  (s64)(b[i] - insn->in[1].zero_point) * insn->multiplier[1];

		out[i] = ovt_clamp(insn, ovt_round_shift(sum, insn->shift[0]) +
					 insn->out.zero_point);
	}
	return count;
}

s64 ovt_unit_table(const struct overtake_insn *insn, const struct ovt_operands *operands,
		   const struct ovt_cursor *at, u32 count)
{
	const s8 *in = ovt_input_at(insn, operands, 0, at->y, at->x, at->c);
	const s8 *table = (const s8 *)operands->weights;
	s8 *out = ovt_output_at(insn, operands, at);
	u32 i;

	/* The index is a byte of a 256-byte table: in bounds under speculation as well. */
	for (i = 0; i < count; i++)
		out[i] = table[(u8)in[i]];
	return count;
}

s64 ovt_unit_copy(const struct overtake_insn *insn, const struct ovt_operands *operands,
		  const struct ovt_cursor *at, u32 count)
{
	/* A client may let the two overlap. */
	memmove(ovt_output_at(insn, operands, at),
		ovt_input_at(insn, operands, 0, at->y, at->x, at->c), count);
	return count;
}
