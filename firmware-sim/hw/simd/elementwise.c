// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * ADD to MIN and REQUANTISE, 16 elements at once.
 *
 * The computation is in doubles: an input times its multiplier / 2^shift needs 33 bits, a sum of
 * two 34 bits, a product of both inputs 40 bits; if an input has 16 bits, 40, 41 and 49 bits.  All
 * are exact; they are rounded once (hw/simd/requantise.h).  A product of two inputs of 16 bits
 * would need 55 bits.
 */
#include "hw/operator_units.h"
#include "hw/simd/pixels.h"
#include "hw/simd/requantise.h"
#include "hw/simd/vector_operators.h"

#define VECTORS		4u	/* vectors of 4 doubles */
/* Work of beginning a run: three tensors may each be on another page. */
#define RUN_WORK	80

struct factors {
	ovt_f64x4 scale[2];
	ovt_s16x16 zero_point[2];
	struct ovt_simd_range range;
	u32 opcode;
	u32 in_type[2];
	u32 out_type;
};

/*
 * The part of an input for a run: elements from @from on, or 16 copies of one shared element.
 * @advance: mask for the bytes by which a run has advanced: all bits, or none for copies
 */
struct source {
	const s8 *from;
	u32 advance;
};

bool ovt_simd_combine_covers(const struct overtake_insn *insn)
{
	return insn->opcode != OVERTAKE_OP_MUL || !insn->in[0].type || !insn->in[1].type;
}

/* Whether one element of @in is used for all of a pixel, or of a row of one channel. */
static bool is_repeated(const struct overtake_operand *in, const struct overtake_operand *out)
{
	return in->channels == 1 && (out->channels != 1 || in->width != out->width);
}

/* Whether a row of out needs a row of @in that has no gaps, or a single element of it. */
static bool is_row(const struct overtake_operand *in, const struct overtake_operand *out)
{
	if (in->width != out->width)
		return is_repeated(in, out);
	return in->channels == out->channels && ovt_simd_is_dense(in);
}

static struct ovt_simd_run run_at(const struct overtake_insn *insn,
				  const struct ovt_cursor *cursor, bool two)
{
	bool rows = ovt_simd_is_dense(&insn->out) && is_row(&insn->in[0], &insn->out) &&
		    (!two || is_row(&insn->in[1], &insn->out));

	return ovt_simd_run_of(insn, cursor, rows);
}

/* Returns the source at the cursor.  @copies: room for copies, 32 bytes. */
static struct source source_at(const struct overtake_insn *insn,
			       const struct ovt_operands *operands, u32 index,
			       const struct ovt_cursor *cursor, s8 *copies)
{
	const struct overtake_operand *in = &insn->in[index];
	bool repeated = is_repeated(in, &insn->out);
	const s8 *from = ovt_input_at(insn, operands, index, in->height == 1 ? 0 : cursor->y,
				      in->width == 1 ? 0 : cursor->x, repeated ? 0 : cursor->c);

	if (!repeated)
		return (struct source) { from, (u32)-1 };
	if (in->type)
		ovt_store_s16x16(copies, ovt_broadcast_s16((s16)ovt_load(from, in->type, 0)));
	else
		ovt_store_s8x32(copies, ovt_broadcast_s8(*from));
	return (struct source) { copies, 0 };
}

static ovt_f64x4 scale_of(u32 multiplier, u32 shift)
{
	u32 multipliers[8] = { multiplier }, shifts[8] = { shift };

	return ovt_broadcast_f64(ovt_simd_factors_of(multipliers, shifts)[0]);
}

static void load_factors(struct factors *factors, const struct overtake_insn *insn)
{
	u32 i;

	factors->opcode = insn->opcode;
	ovt_simd_range_init(&factors->range, insn);
	for (i = 0; i < 2; i++) {
		factors->scale[i] = scale_of(insn->multiplier[i], insn->shift[0]);
		factors->zero_point[i] = ovt_broadcast_s16((s16)insn->in[i].zero_point);
		factors->in_type[i] = insn->in[i].type;
	}
	factors->out_type = insn->out.type;
	if (insn->opcode == OVERTAKE_OP_MUL)
		factors->scale[1] = ovt_broadcast_f64(1.0);
}

/* Loads 16 elements from @from on, of which exactly @count are read. */
static __always_inline ovt_s16x16 load_words(const s8 *from, u32 count, u32 type)
{
	s16 words[16] = { 0 };

	if (type == OVERTAKE_TYPE_INT8)
		return ovt_widen_s8(ovt_simd_load_exactly(from, count));
	if (count == 16)
		return ovt_load_s16x16(from);
	memcpy(words, from, count * sizeof(*words));
	return ovt_load_s16x16(words);
}

/* Loads these elements times their scale. */
static __always_inline void load_scaled(ovt_f64x4 *values, const s8 *from, u32 count, u32 type,
					const struct factors *factors, u32 index)
{
	ovt_s16x16 words = load_words(from, count, type) - factors->zero_point[index];
	ovt_u32x8 low = ovt_widen_s16(ovt_low_half((ovt_u32x8)words));
	ovt_u32x8 high = ovt_widen_s16(ovt_high_half((ovt_u32x8)words));

	values[0] = ovt_to_f64(ovt_low_half(low)) * factors->scale[index];
	values[1] = ovt_to_f64(ovt_high_half(low)) * factors->scale[index];
	values[2] = ovt_to_f64(ovt_low_half(high)) * factors->scale[index];
	values[3] = ovt_to_f64(ovt_high_half(high)) * factors->scale[index];
}

static __always_inline ovt_f64x4 combine(ovt_f64x4 a, ovt_f64x4 b, u32 opcode)
{
	switch (opcode) {
	case OVERTAKE_OP_ADD:
		return a + b;
	case OVERTAKE_OP_SUB:
		return a - b;
	case OVERTAKE_OP_MUL:
		return a * b;
	case OVERTAKE_OP_MAX:
		return __builtin_ia32_maxpd256(a, b);
	case OVERTAKE_OP_MIN:
		return __builtin_ia32_minpd256(a, b);
	default:
		return a;
	}
}

/* Turns clamped doubles of outputs 0..15 into elements of 16 bits, and stores @count of them. */
static __always_inline void store_words(s8 *out, const ovt_f64x4 *rounded, u32 count)
{
	/* Words 0 1 4 5 8 9 12 13 | 2 3 6 7 10 11 14 15 */
	ovt_i16x16 words = __builtin_ia32_packssdw256(ovt_simd_low_words(rounded[0], rounded[1]),
						      ovt_simd_low_words(rounded[2], rounded[3]));
	ovt_i32x4 low = (ovt_i32x4)ovt_low_half((ovt_u32x8)words);
	ovt_i32x4 high = (ovt_i32x4)ovt_high_half((ovt_u32x8)words);
	ovt_i32x4 ordered[2] = { __builtin_ia32_punpckldq128(low, high),
				 __builtin_ia32_punpckhdq128(low, high) };

	if (count == 16) {
		ovt_store_s32x4(out, (ovt_s32x4)ordered[0]);
		ovt_store_s32x4(out + 16, (ovt_s32x4)ordered[1]);
	} else {
		memcpy(out, ordered, count * sizeof(s16));
	}
}

/* @wide: elements have the types of @factors, else they are bytes. */
static __always_inline void combine_run(const struct factors *factors,
					const struct source *sources, s8 *out, u32 elements,
					const u32 opcode, const bool wide)
{
	u32 type[2] = { wide ? factors->in_type[0] : OVERTAKE_TYPE_INT8,
			wide ? factors->in_type[1] : OVERTAKE_TYPE_INT8 };
	u32 out_type = wide ? factors->out_type : OVERTAKE_TYPE_INT8;
	const struct source a = sources[0], b = sources[1];
	u32 done, i;

	for (done = 0; done < elements; done += 16) {
		u32 count = elements - done < 16 ? elements - done : 16;
		ovt_f64x4 first[VECTORS], second[VECTORS] = { 0 };

		load_scaled(first, a.from + ((done << type[0]) & a.advance), count, type[0],
			    factors, 0);
		if (opcode != OVERTAKE_OP_REQUANTISE)
			load_scaled(second, b.from + ((done << type[1]) & b.advance), count,
				    type[1], factors, 1);
#pragma GCC unroll 4
		for (i = 0; i < VECTORS; i++)
			first[i] = ovt_simd_clamp(combine(first[i], second[i], opcode) +
						  ovt_broadcast_f64(OVT_ROUNDING_BIAS),
						  &factors->range);
		if (out_type)
			store_words(out + (done << out_type), first, count);
		else
			ovt_simd_store(out + done, ovt_simd_pack(first, &factors->range), count);
	}
}

/* A copy of combine_run() for each opcode. */
static __always_inline void run_opcode(const struct factors *factors,
				       const struct source *sources, s8 *out, u32 elements,
				       const bool wide)
{
	switch (factors->opcode) {
	case OVERTAKE_OP_ADD:
		combine_run(factors, sources, out, elements, OVERTAKE_OP_ADD, wide);
		break;
	case OVERTAKE_OP_SUB:
		combine_run(factors, sources, out, elements, OVERTAKE_OP_SUB, wide);
		break;
	case OVERTAKE_OP_MUL:
		combine_run(factors, sources, out, elements, OVERTAKE_OP_MUL, wide);
		break;
	case OVERTAKE_OP_MAX:
		combine_run(factors, sources, out, elements, OVERTAKE_OP_MAX, wide);
		break;
	case OVERTAKE_OP_MIN:
		combine_run(factors, sources, out, elements, OVERTAKE_OP_MIN, wide);
		break;
	default:
		combine_run(factors, sources, out, elements, OVERTAKE_OP_REQUANTISE, wide);
		break;
	}
}

static OVT_SIMD_NOINLINE void run_bytes(const struct factors *factors,
					const struct source *sources, s8 *out, u32 elements)
{
	run_opcode(factors, sources, out, elements, false);
}

static OVT_SIMD_NOINLINE void run_wide(const struct factors *factors,
				       const struct source *sources, s8 *out, u32 elements)
{
	run_opcode(factors, sources, out, elements, true);
}

bool ovt_simd_combine(const struct overtake_insn *insn, const struct ovt_operands *operands,
		      struct ovt_simd_scratch *scratch, struct ovt_cursor *cursor, s64 *work)
{
	bool two = insn->opcode != OVERTAKE_OP_REQUANTISE, wide = ovt_insn_is_wide(insn);
	struct factors factors;
	s8 copies[2][32];
	bool more;
	u32 i;

	(void)scratch;
	load_factors(&factors, insn);
	do {
		struct ovt_simd_run part = run_at(insn, cursor, two);
		s8 *out = ovt_output_at(insn, operands, cursor);
		struct source sources[2];

		for (i = 0; i < 2; i++)
			sources[i] = source_at(insn, operands, two ? i : 0, cursor, copies[i]);
		if (wide)
			run_wide(&factors, sources, out, part.elements);
		else
			run_bytes(&factors, sources, out, part.elements);
		*work -= RUN_WORK + part.elements;
		more = ovt_simd_run_next(insn, cursor, &part);
	} while (more && *work > 0);
	return !more;
}
