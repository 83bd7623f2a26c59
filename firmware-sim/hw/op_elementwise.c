// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* ADD to MIN, REQUANTISE and TABLE: arithmetic on the same element of the inputs. */
#include "hw/operator_units.h"

#define SCALING_WORK	4	/* of an element that is rounded and clamped */

enum combination { SUM, DIFFERENCE, PRODUCT, GREATER, LESSER };

/* An input whose dimensions are the output's or 1, from output element @at on. */
struct source {
	const s8 *elements;
	u32 step;	/* from one output channel to the next */
	s32 zero_point;
	s64 multiplier;
};

static struct source source_at(const struct overtake_insn *insn,
			       const struct ovt_operands *operands, u32 index,
			       const struct ovt_cursor *at)
{
	const struct overtake_operand *in = &insn->in[index];

	return (struct source){
		.elements = ovt_input_at(insn, operands, index, in->height == 1 ? 0 : at->y,
					 in->width == 1 ? 0 : at->x,
					 in->channels == 1 ? 0 : at->c),
		.step = in->channels != 1,
		.zero_point = in->zero_point,
		.multiplier = insn->multiplier[index],
	};
}

/* Below 2^41: no combination overflows. */
static inline s64 combine(enum combination how, s64 a, s64 b)
{
	switch (how) {
	case DIFFERENCE:
		return a - b;
	case PRODUCT:
		return a * b;
	case GREATER:
		return a > b ? a : b;
	case LESSER:
		return a < b ? a : b;
	default:
		return a + b;
	}
}

/* Inlined into one loop for each opcode. */
static inline s64 combine_run(const struct overtake_insn *insn,
			      const struct ovt_operands *operands, const struct ovt_cursor *at,
			      u32 count, enum combination how)
{
	struct source a = source_at(insn, operands, 0, at);
	struct source b = source_at(insn, operands, 1, at);
	s8 *out = ovt_output_at(insn, operands, at);
	u32 i;

	if (how == PRODUCT)
		b.multiplier = 1;
	for (i = 0; i < count; i++, a.elements += a.step, b.elements += b.step) {
		s64 acc = combine(how, (*a.elements - a.zero_point) * a.multiplier,
				  (*b.elements - b.zero_point) * b.multiplier);

		out[i] = ovt_clamp(insn, ovt_round_shift(acc, insn->shift[0]) +
					 insn->out.zero_point);
	}
	return (s64)SCALING_WORK * count;
}

s64 ovt_unit_add(const struct overtake_insn *insn, const struct ovt_operands *operands,
		 struct ovt_cursor *at, u32 count)
{
	return combine_run(insn, operands, at, count, SUM);
}

s64 ovt_unit_sub(const struct overtake_insn *insn, const struct ovt_operands *operands,
		 struct ovt_cursor *at, u32 count)
{
	return combine_run(insn, operands, at, count, DIFFERENCE);
}

s64 ovt_unit_mul(const struct overtake_insn *insn, const struct ovt_operands *operands,
		 struct ovt_cursor *at, u32 count)
{
	return combine_run(insn, operands, at, count, PRODUCT);
}

s64 ovt_unit_max(const struct overtake_insn *insn, const struct ovt_operands *operands,
		 struct ovt_cursor *at, u32 count)
{
	return combine_run(insn, operands, at, count, GREATER);
}

s64 ovt_unit_min(const struct overtake_insn *insn, const struct ovt_operands *operands,
		 struct ovt_cursor *at, u32 count)
{
	return combine_run(insn, operands, at, count, LESSER);
}

s64 ovt_unit_requantise(const struct overtake_insn *insn, const struct ovt_operands *operands,
			struct ovt_cursor *at, u32 count)
{
	const s8 *in = ovt_input_at(insn, operands, 0, at->y, at->x, at->c);
	s8 *out = ovt_output_at(insn, operands, at);
	u32 i;

	for (i = 0; i < count; i++)
		out[i] = ovt_clamp(insn, ovt_requantise(in[i] - insn->in[0].zero_point,
							insn->multiplier[0], insn->shift[0]) +
					 insn->out.zero_point);
	return (s64)SCALING_WORK * count;
}

s64 ovt_unit_table(const struct overtake_insn *insn, const struct ovt_operands *operands,
		   struct ovt_cursor *at, u32 count)
{
	const s8 *table = (const s8 *)operands->weights;
	s8 *out = ovt_output_at(insn, operands, at);
	u32 i;

	for (i = 0; i < count; i++)
		out[i] = table[ovt_index_at(insn, operands, at, i, count)];
	return count;
}
