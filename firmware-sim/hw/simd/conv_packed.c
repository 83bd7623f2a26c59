// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * CONV with weights that have been packed (hw/simd/conv_pack.c): bytes or words.
 *
 * Bytes: AVX2 multiplies 32 unsigned bytes by 32 signed ones and adds up neighbours, in 16 bits and
 * saturating; packed weights never saturate.  Inputs have 128 added, so they are 0..255.  The sum
 * of the weights times the number added to the inputs (128 and their zero point) is subtracted.  A
 * step is four inputs of each output.
 *
 * Words: one multiplication adds 2 inputs to each of 8 outputs, which is a step.
 */
#include "hw/operator_units.h"
#include "hw/simd/conv_finish.h"

#define VECTOR_BYTES	32u

/* Returns the index, in arrays by rows of taps, of the entry up to row @end_row. */
static u32 rows_at(u32 end_row)
{
	return end_row < OVT_SIMD_TAP_ROWS ? end_row : OVT_SIMD_TAP_ROWS;
}

void ovt_conv_load_steps(struct ovt_conv_block *block, const struct ovt_conv_run *run,
			 const struct ovt_simd_scratch *scratch)
{
	u32 step_bytes = block->count > OVERTAKE_WEIGHT_BLOCK ? 2 * VECTOR_BYTES : VECTOR_BYTES;
	u32 row = run->columns * run->length;
	struct ovt_conv_steps *steps = &block->steps;

	steps->weights = scratch->packed + (u64)block->first_row * row * step_bytes;
	steps->at = scratch->step_at + (u64)block->first_row * row;
	steps->end = scratch->step_at + (u64)block->end_row * row;
}

/* Begins sums with the bias, less the weights of the block's rows times @zero. */
static void load_start(struct ovt_conv_block *block, const struct ovt_simd_scratch *scratch,
		       s32 zero)
{
	const ovt_u32x8 added = (ovt_u32x8)ovt_broadcast_s32(zero);
	const u32 *before = scratch->totals[block->index][rows_at(block->first_row)];
	const u32 *all = scratch->totals[block->index][rows_at(block->end_row)];
	ovt_u32x8 low = (ovt_u32x8)ovt_load_s32x8(all) - (ovt_u32x8)ovt_load_s32x8(before);
	ovt_u32x8 high = (ovt_u32x8)ovt_load_s32x8(all + 8) -
			 (ovt_u32x8)ovt_load_s32x8(before + 8);

	block->start.low = block->channels.bias.low - low * added;
	block->start.high = block->channels.bias.high - high * added;
}

void ovt_conv_load_vnni(struct ovt_conv_block *block, const struct ovt_conv_run *run,
			const struct ovt_simd_scratch *scratch, s32 zero)
{
	const s8 *packed = block->index ? (const s8 *)scratch->inputs : scratch->packed;
	bool two = scratch->level >= OVT_SIMD_AVX512_VNNI || block->count > OVERTAKE_WEIGHT_BLOCK;
	u32 row = run->columns * run->length;

	load_start(block, scratch, zero);
	ovt_conv_load_steps(block, run, scratch);
	block->steps.weights = packed + (u64)block->first_row * row * VECTOR_BYTES * (two ? 2 : 1);
}

void ovt_conv_load_bytes(struct ovt_conv_block *block, const struct ovt_conv_run *run,
			 const struct ovt_simd_scratch *scratch, s32 zero)
{
	const u32 first = rows_at(block->first_row), last = rows_at(block->end_row);
	struct ovt_conv_steps *steps = &block->steps;
	u32 i;

	load_start(block, scratch, zero);
	ovt_conv_load_steps(block, run, scratch);
	steps->has_extras = false;
	for (i = 0; i < 2; i++) {
		u32 extra = scratch->extras[first][i], end = scratch->extras[last][i];

		steps->extra[i] = scratch->extra[i] + extra * VECTOR_BYTES;
		steps->extra_at[i] = scratch->extra_at[i] + extra;
		steps->extra_end[i] = scratch->extra_at[i] + end;
		steps->has_extras |= extra != end;
	}
}

static __always_inline ovt_u32x8 product(ovt_s32x8 inputs, const s8 *weights, const bool words)
{
	ovt_s8x32 vector = ovt_load_s8x32(weights);

	if (words)
		return ovt_multiply_pairs((ovt_s16x16)inputs, (ovt_s16x16)vector);
	return ovt_multiply_pairs((ovt_s16x16)__builtin_ia32_pmaddubsw256((ovt_c8x32)inputs,
									  (ovt_c8x32)vector),
				  ovt_broadcast_s16(1));
}

/* Adds the products of a step of @pixels pixels' inputs. */
static __always_inline void
add_step(struct ovt_simd_sums *sums, const u8 *const *windows, u64 at, const s8 *weights,
	 const u32 pixels, const u32 vectors, const bool words)
{
	u32 p;

#pragma GCC unroll 6
	for (p = 0; p < pixels; p++) {
		ovt_s32x8 inputs = ovt_broadcast_s32(ovt_load_s32(windows[p] + at));

		sums[p].low += product(inputs, weights, words);
		if (vectors == 2)
			sums[p].high += product(inputs, weights + VECTOR_BYTES, words);
		/* There are no registers for weights: each product reads them from memory. */
		ovt_simd_reload();
	}
}

/* Adds the products of second parts of a step's first vectors, or of its second ones. */
static __always_inline void
add_extras(struct ovt_simd_sums *sums, const u8 *const *windows,
	   const struct ovt_conv_steps *steps, const u32 pixels, const u32 which)
{
	const s8 *weights = steps->extra[which];
	const u32 *at = steps->extra_at[which];
	u32 p;

	for (; at != steps->extra_end[which]; at++, weights += VECTOR_BYTES) {
#pragma GCC unroll 6
		for (p = 0; p < pixels; p++) {
			ovt_s32x8 inputs = ovt_broadcast_s32(ovt_load_s32(windows[p] + *at));
			ovt_u32x8 *sum = which ? &sums[p].high : &sums[p].low;

			*sum += product(inputs, weights, false);
		}
	}
}

static __always_inline void
multiply(const struct ovt_conv_strip *strip, const struct ovt_conv_block *block,
	 const u32 pixels, const u32 vectors, const bool words)
{
	const struct ovt_conv_steps *steps = &block->steps;
	const s8 *weights = steps->weights;
	const u32 *at = steps->at;
	const u32 *end = steps->end;
	struct ovt_simd_sums sums[OVT_STRIP_PIXELS] OVT_SIMD_UNSET;
	const u8 *windows[OVT_STRIP_PIXELS] OVT_SIMD_UNSET;
	u32 p;

#pragma GCC unroll 6
	for (p = 0; p < pixels; p++) {
		windows[p] = strip->windows[p];
		sums[p] = block->start;
	}
	do {
		add_step(sums, windows, *at, weights, pixels, vectors, words);
		weights += vectors * VECTOR_BYTES;
	} while (++at != end);
	if (!words && steps->has_extras) {
		add_extras(sums, windows, steps, pixels, 0);
		if (vectors == 2)
			add_extras(sums, windows, steps, pixels, 1);
	}
	if (vectors == 1) {
		ovt_conv_finish_8(strip, block, sums, pixels);
		return;
	}
	if (words) {
#pragma GCC unroll 6
		for (p = 0; p < pixels; p++)
			sums[p] = ovt_simd_in_order(sums[p].low, sums[p].high);
	}
	ovt_conv_finish_16(strip, block, sums, pixels);
}

/* A copy of multiply() for each shape: its sums stay in registers. */
static __always_inline void
multiply_pixels(const struct ovt_conv_strip *strip, const struct ovt_conv_block *block,
		const u32 vectors, const bool words)
{
	switch (strip->pixels) {
	case 1:
		multiply(strip, block, 1, vectors, words);
		break;
	case 2:
		multiply(strip, block, 2, vectors, words);
		break;
	case 3:
		multiply(strip, block, 3, vectors, words);
		break;
	case 4:
		multiply(strip, block, 4, vectors, words);
		break;
	case 5:
		multiply(strip, block, 5, vectors, words);
		break;
	default:
		multiply(strip, block, 6, vectors, words);
		break;
	}
}

static OVT_SIMD_NOINLINE void bytes_8(const struct ovt_conv_strip *strip,
				      const struct ovt_conv_block *block)
{
	multiply_pixels(strip, block, 1, false);
}

static OVT_SIMD_NOINLINE void bytes_16(const struct ovt_conv_strip *strip,
				       const struct ovt_conv_block *block)
{
	multiply_pixels(strip, block, 2, false);
}

static OVT_SIMD_NOINLINE void words_8(const struct ovt_conv_strip *strip,
				      const struct ovt_conv_block *block)
{
	multiply_pixels(strip, block, 1, true);
}

static OVT_SIMD_NOINLINE void words_16(const struct ovt_conv_strip *strip,
				       const struct ovt_conv_block *block)
{
	multiply_pixels(strip, block, 2, true);
}

void ovt_conv_packed_bytes(const struct ovt_conv_strip *strip, const struct ovt_conv_block *block)
{
	if (block->count > OVERTAKE_WEIGHT_BLOCK)
		bytes_16(strip, block);
	else
		bytes_8(strip, block);
}

void ovt_conv_packed_words(const struct ovt_conv_strip *strip, const struct ovt_conv_block *block)
{
	if (block->count > OVERTAKE_WEIGHT_BLOCK)
		words_16(strip, block);
	else
		words_8(strip, block);
}
