// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* ADD to MIN, REQUANTISE and TABLE: arithmetic on the same element of the inputs. */
#include "hw/operator_units.h"

#define SCALING_WORK	4	/* for an element that is rounded and clamped */

enum combination { SUM, DIFFERENCE, PRODUCT, GREATER, LESSER };

/* An input whose dimensions are the output's or 1, from output element @at on. */
struct source {
	const s8 *elements;
	u32 type;
	u32 step;	/* elements from one output channel to the next: 0 or 1 */
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
		.type = in->type,
		.step = in->channels != 1,
		.zero_point = in->zero_point,
		.multiplier = insn->multiplier[index],
	};
}

/* Products of an element and a multiplier are below 2^40, of two elements and one below 2^54. */
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

/* Inlined into two loops for each opcode: of bytes alone, and of any types. */
static inline s64 combine_types(const struct overtake_insn *insn,
				const struct ovt_operands *operands, const struct ovt_cursor *at,
				u32 count, enum combination how, bool wide)
{
	struct source a = source_at(insn, operands, 0, at);
	struct source b = source_at(insn, operands, 1, at);
	s8 *out = ovt_output_at(insn, operands, at);
	u32 i;

	if (how == PRODUCT)
		b.multiplier = 1;
	if (!wide) {
		a.type = OVERTAKE_TYPE_INT8;
		b.type = OVERTAKE_TYPE_INT8;
	}
	for (i = 0; i < count; i++) {
		s64 first = ovt_load(a.elements, a.type, (u64)i * a.step) - a.zero_point;
		s64 second = ovt_load(b.elements, b.type, (u64)i * b.step) - b.zero_point;
		s64 acc = combine(how, first * a.multiplier, second * b.multiplier);

		ovt_store(out, wide ? insn->out.type : OVERTAKE_TYPE_INT8, i,
			  ovt_clamp(insn, ovt_round_shift(acc, insn->shift[0]) +
					  insn->out.zero_point));
	}
	return (s64)SCALING_WORK * count;
}

static inline s64 combine_run(const struct overtake_insn *insn,
			      const struct ovt_operands *operands, const struct ovt_cursor *at,
			      u32 count, enum combination how)
{
	if (ovt_insn_is_wide(insn))
		return combine_types(insn, operands, at, count, how, true);
	return combine_types(insn, operands, at, count, how, false);
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

	for (i = 0; i < count; i++) {
		s32 value = ovt_load(in, insn->in[0].type, i) - insn->in[0].zero_point;
		s64 scaled = ovt_requantise(value, insn->multiplier[0], insn->shift[0]);

		ovt_store(out, insn->out.type, i, ovt_clamp(insn, scaled + insn->out.zero_point));
	}
	return (s64)SCALING_WORK * count;
}

/* A table for 16 bits has 2048 cache lines and more: any element may miss the cache. */
#define WIDE_TABLE_WORK	16

s64 ovt_unit_table(const struct overtake_insn *insn, const struct ovt_operands *operands,
		   struct ovt_cursor *at, u32 count)
{
	const s8 *table = (const s8 *)operands->weights;
	s8 *out = ovt_output_at(insn, operands, at);
	u32 i;

	for (i = 0; i < count; i++)
		ovt_store(out, insn->out.type, i,
			  ovt_load(table, insn->out.type,
				   ovt_index_at(insn, operands, at, i, count)));
	return insn->in[0].type ? (s64)WIDE_TABLE_WORK * count : count;
}
