// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * CONV of weights that are small enough to be multiplied as bytes (hw/simd/conv_pack.c).
 *
 * AVX2 multiplies 32 unsigned bytes by 32 signed ones and adds up neighbours, in 16 bits and
 * saturating, which no weights that have been packed make happen.  Inputs have 128 added, so they
 * are 0..255.  The sum of the weights times what was added to the inputs (128 and their zero point)
 * is subtracted.
 */
#include "hw/operator_units.h"
#include "hw/simd/conv_finish.h"

#define INPUTS_AT_ONCE	4u
/* Weights of 8 outputs and 4 inputs. */
#define QUAD_BYTES	(OVERTAKE_WEIGHT_BLOCK * INPUTS_AT_ONCE)

void ovt_conv_start_bytes(struct ovt_conv_block *block, const struct ovt_simd_scratch *scratch,
			  s32 zero)
{
	const ovt_u32x8 added = (ovt_u32x8)ovt_broadcast_s32(zero);
	const u32 *totals = scratch->totals;

	block->start.low -= (ovt_u32x8)ovt_load_s32x8(totals) * added;
	block->start.high -= (ovt_u32x8)ovt_load_s32x8(totals + OVERTAKE_WEIGHT_BLOCK) * added;
}

static __always_inline ovt_u32x8 multiply_quad(ovt_c8x32 inputs, const s8 *weights)
{
	ovt_c8x32 quad = (ovt_c8x32)ovt_load_s8x32(weights);

	return ovt_multiply_pairs((ovt_s16x16)__builtin_ia32_pmaddubsw256(inputs, quad),
				  ovt_broadcast_s16(1));
}

/* Adds the products of a quad of @pixels pixels' inputs. */
static __always_inline void
add_quad(struct ovt_simd_sums *sums, const u8 *const *windows, u64 at, const s8 *weights,
	 const u32 pixels, const u32 vectors)
{
	u32 p;

#pragma GCC unroll 6
	for (p = 0; p < pixels; p++) {
		ovt_c8x32 inputs = (ovt_c8x32)ovt_broadcast_s32(ovt_load_s32(windows[p] + at));

		sums[p].low += multiply_quad(inputs, weights);
		if (vectors == 2)
			sums[p].high += multiply_quad(inputs, weights + QUAD_BYTES);
		/* There are no registers for weights: each product reads them from memory. */
		ovt_simd_reload();
	}
}

static __always_inline void
multiply(const struct ovt_conv_strip *strip, const struct ovt_conv_block *block,
	 const struct ovt_simd_scratch *scratch, const u32 pixels, const u32 vectors)
{
	const s8 *weights = scratch->packed;
	const u32 *at = scratch->quad_at;
	const u32 *end = at + scratch->quads;
	struct ovt_simd_sums sums[OVT_STRIP_PIXELS];
	const u8 *windows[OVT_STRIP_PIXELS];
	u32 p;

#pragma GCC unroll 6
	for (p = 0; p < pixels; p++) {
		windows[p] = strip->windows[p];
		sums[p] = block->start;
	}
	do {
		add_quad(sums, windows, *at, weights, pixels, vectors);
		weights += vectors * QUAD_BYTES;
	} while (++at != end);
	if (vectors == 2)
		ovt_conv_finish_16(strip, block, sums, pixels);
	else
		ovt_conv_finish_8(strip, block, sums, pixels);
}

/* A copy of multiply() for each shape: its sums stay in registers. */
static __always_inline void
multiply_pixels(const struct ovt_conv_strip *strip, const struct ovt_conv_block *block,
		const struct ovt_simd_scratch *scratch, const u32 vectors)
{
	switch (strip->pixels) {
	case 1:
		multiply(strip, block, scratch, 1, vectors);
		break;
	case 2:
		multiply(strip, block, scratch, 2, vectors);
		break;
	case 3:
		multiply(strip, block, scratch, 3, vectors);
		break;
	case 4:
		multiply(strip, block, scratch, 4, vectors);
		break;
	case 5:
		multiply(strip, block, scratch, 5, vectors);
		break;
	default:
		multiply(strip, block, scratch, 6, vectors);
		break;
	}
}

static OVT_SIMD_NOINLINE void multiply_8(const struct ovt_conv_strip *strip,
					 const struct ovt_conv_block *block,
					 const struct ovt_simd_scratch *scratch)
{
	multiply_pixels(strip, block, scratch, 1);
}

static OVT_SIMD_NOINLINE void multiply_16(const struct ovt_conv_strip *strip,
					  const struct ovt_conv_block *block,
					  const struct ovt_simd_scratch *scratch)
{
	multiply_pixels(strip, block, scratch, 2);
}

void ovt_conv_bytes(const struct ovt_conv_strip *strip, const struct ovt_conv_block *block,
		    const struct ovt_simd_scratch *scratch)
{
	if (block->count > OVERTAKE_WEIGHT_BLOCK)
		multiply_16(strip, block, scratch);
	else
		multiply_8(strip, block, scratch);
}
