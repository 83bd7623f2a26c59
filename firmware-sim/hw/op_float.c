// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * QUANTISE and DEQUANTISE: conversion between IEEE 754 single precision and integers of 8 or 16
 * bits, in integers only, since the kernel has no floating point.
 */
#include "hw/operator_units.h"

#define FLOAT_WORK	16	/* for an element */
#define MANTISSA_BITS	23u
#define EXPONENT_MAX	255u
/* The value of an encoded number is mantissa * 2^(exponent - EXPONENT_BIAS). */
#define EXPONENT_BIAS	150
/* A mantissa below 2^24 times a multiplier below 2^24. */
#define PRODUCT_BITS	48
/* A number farther from 0 than any output, before and after its zero point is added. */
#define FAR		(1ll << 32)

/* Returns the bytes from a tensor's first element to the one at @at. */
static u64 float_offset(const struct overtake_operand *operand, const struct ovt_cursor *at)
{
	return ovt_element_offset(operand, at->y, at->x, 0) + (u64)at->c * sizeof(u32);
}

static u32 load_little_endian(const u8 *bytes)
{
	return bytes[0] | (u32)bytes[1] << 8 | (u32)bytes[2] << 16 | (u32)bytes[3] << 24;
}

static void store_little_endian(u8 *bytes, u32 word)
{
	bytes[0] = (u8)word;
	bytes[1] = (u8)(word >> 8);
	bytes[2] = (u8)(word >> 16);
	bytes[3] = (u8)(word >> 24);
}

/*
 * Returns magnitude * 2^scale, rounded to the nearest integer, halves to even, and cut at FAR;
 * magnitude < 2^48.
 */
static s64 scale_magnitude(s64 magnitude, s32 scale)
{
	if (!magnitude || scale < -PRODUCT_BITS - 1)
		return 0;
	if (scale < 0)
		return ovt_round_shift(magnitude, (u32)-scale);
	if (scale > 32 || magnitude >= FAR >> scale)
		return FAR;
	return magnitude << scale;
}

/* Returns the number that @word encodes, times multiplier / 2^shift.  NaN counts as 0. */
static s64 scale_float(u32 word, u32 multiplier, u32 shift)
{
	u32 exponent = word >> MANTISSA_BITS & EXPONENT_MAX;
	u32 mantissa = word & ((1u << MANTISSA_BITS) - 1);
	s64 value;

	/* Subnormal numbers need no case of their own: with any scale they round to 0. */
	if (exponent == EXPONENT_MAX)
		value = mantissa ? 0 : FAR;
	else
		value = scale_magnitude((s64)(mantissa | 1u << MANTISSA_BITS) * multiplier,
					(s32)exponent - EXPONENT_BIAS - (s32)shift);
	return word >> 31 ? -value : value;
}

s64 ovt_unit_quantise(const struct overtake_insn *insn, const struct ovt_operands *operands,
		      struct ovt_cursor *at, u32 count)
{
	const u8 *in = operands->in[0] + float_offset(&insn->in[0], at);
	s8 *out = ovt_output_at(insn, operands, at);
	u32 i;

	for (i = 0; i < count; i++, in += sizeof(u32)) {
		s64 scaled = scale_float(load_little_endian(in), insn->multiplier[0],
					 insn->shift[0]);

		ovt_store(out, insn->out.type, i, ovt_clamp(insn, scaled + insn->out.zero_point));
	}
	return (s64)FLOAT_WORK * count;
}

/* Returns the float nearest to value / 2^shift, the even one of two; value is within 2^40. */
static u32 nearest_float(s64 value, u32 shift)
{
	s64 magnitude = value < 0 ? -value : value;
	u32 sign = value < 0 ? 1u << 31 : 0;
	s32 bits;

	if (!magnitude)
		return 0;
	bits = 64 - __builtin_clzll((u64)magnitude) - (s32)MANTISSA_BITS - 1;
	if (bits > 0)
		magnitude = ovt_round_shift(magnitude, (u32)bits);
	else
		magnitude <<= -bits;
	/* Between 2^23 and 2^24: the leading bit, or the one beyond, adds to the exponent. */
	return sign + ((u32)(bits + EXPONENT_BIAS - 1 - (s32)shift) << MANTISSA_BITS) +
	       (u32)magnitude;
}

static s64 scale_to_floats(const struct overtake_insn *insn, const struct ovt_operands *operands,
			   const struct ovt_cursor *at, u8 *out, u32 count)
{
	const s8 *in = ovt_input_at(insn, operands, 0, at->y, at->x, at->c);
	u32 i;

	for (i = 0; i < count; i++, out += sizeof(u32)) {
		u32 word = nearest_float((s64)ovt_load(in, OVERTAKE_TYPE_INT16, i) *
					 insn->multiplier[0], insn->shift[0]);

		store_little_endian(out, word);
	}
	return (s64)FLOAT_WORK * count;
}

s64 ovt_unit_dequantise(const struct overtake_insn *insn, const struct ovt_operands *operands,
			struct ovt_cursor *at, u32 count)
{
	u8 *out = operands->out + float_offset(&insn->out, at);
	u32 i;

	if (insn->in[0].type)
		return scale_to_floats(insn, operands, at, out, count);
	for (i = 0; i < count; i++, out += sizeof(u32))
		memcpy(out, operands->weights +
			    ovt_index_at(insn, operands, at, i, count) * sizeof(u32), sizeof(u32));
	return count;
}
