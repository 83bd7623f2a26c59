// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * CONV with any weights, as words.
 *
 * The weights [i / 2][8 o][2 i] are widened to 16 bits as they are read, a pair of inputs is
 * broadcast, and one multiplication adds 2 inputs to each of 8 outputs.  12 sums, 2 vectors of
 * weights, the pair and a product take all registers.  Sums wrap, so their order does not matter.
 */
#include "hw/operator_units.h"
#include "hw/simd/conv_finish.h"

/* Adds a run to the sums of @pixels pixels times @vectors * 8 outputs. */
static __always_inline void
multiply_run(struct ovt_simd_sums *sums, const u8 *const *windows, u64 from, const s8 *weights,
	     u64 block_step, u32 pairs, const u32 pixels, const u32 vectors)
{
	const s8 *end = weights + (u64)pairs * OVERTAKE_WEIGHT_TILE;
	u64 at = from * sizeof(s16);

	for (; weights != end; weights += OVERTAKE_WEIGHT_TILE, at += sizeof(s32)) {
		ovt_s16x16 low = ovt_widen_s8(ovt_load_s8x16(weights));
		ovt_s16x16 high = { 0 };
		u32 p;

		if (vectors == 2)
			high = ovt_widen_s8(ovt_load_s8x16(weights + block_step));
#pragma GCC unroll 6
		for (p = 0; p < pixels; p++) {
			s32 pair = ovt_load_s32(windows[p] + at);
			ovt_s16x16 inputs = (ovt_s16x16)ovt_broadcast_s32(pair);

			sums[p].low += ovt_multiply_pairs(inputs, low);
			if (vectors == 2)
				sums[p].high += ovt_multiply_pairs(inputs, high);
		}
	}
}

static __always_inline void
multiply(const struct ovt_conv_strip *strip, const struct ovt_conv_run *run,
	 const struct ovt_conv_block *block, const u32 pixels, const u32 vectors)
{
	struct ovt_simd_sums sums[OVT_STRIP_PIXELS] OVT_SIMD_UNSET;
	u32 p, y, x;

#pragma GCC unroll 6
	for (p = 0; p < pixels; p++)
		sums[p] = block->start;
	for (y = block->first_row; y < block->end_row; y++) {
		const s8 *weights = block->weights + y * run->weights_row;
		u64 from = (u64)y * run->row_step;

		for (x = 0; x < run->columns; x++) {
			multiply_run(sums, strip->windows, from, weights, block->block_step,
				     run->length, pixels, vectors);
			weights += run->weights_column;
			from += run->column_step;
		}
	}
	if (vectors == 1) {
		ovt_conv_finish_8(strip, block, sums, pixels);
		return;
	}
#pragma GCC unroll 6
	for (p = 0; p < pixels; p++)
		sums[p] = ovt_simd_in_order(sums[p].low, sums[p].high);
	ovt_conv_finish_16(strip, block, sums, pixels);
}

/* A copy of multiply() for each shape: its sums stay in registers. */
static __always_inline void
multiply_pixels(const struct ovt_conv_strip *strip, const struct ovt_conv_run *run,
		const struct ovt_conv_block *block, const u32 vectors)
{
	switch (strip->pixels) {
	case 1:
		multiply(strip, run, block, 1, vectors);
		break;
	case 2:
		multiply(strip, run, block, 2, vectors);
		break;
	case 3:
		multiply(strip, run, block, 3, vectors);
		break;
	case 4:
		multiply(strip, run, block, 4, vectors);
		break;
	case 5:
		multiply(strip, run, block, 5, vectors);
		break;
	default:
		multiply(strip, run, block, 6, vectors);
		break;
	}
}

static OVT_SIMD_NOINLINE void multiply_8(const struct ovt_conv_strip *strip,
					 const struct ovt_conv_run *run,
					 const struct ovt_conv_block *block)
{
	multiply_pixels(strip, run, block, 1);
}

static OVT_SIMD_NOINLINE void multiply_16(const struct ovt_conv_strip *strip,
					  const struct ovt_conv_run *run,
					  const struct ovt_conv_block *block)
{
	multiply_pixels(strip, run, block, 2);
}

void ovt_conv_words(const struct ovt_conv_strip *strip, const struct ovt_conv_run *run,
		    const struct ovt_conv_block *block)
{
	if (block->count > OVERTAKE_WEIGHT_BLOCK)
		multiply_16(strip, run, block);
	else
		multiply_8(strip, run, block);
}
