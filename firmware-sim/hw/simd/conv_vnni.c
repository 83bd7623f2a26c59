// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * CONV with packed bytes, for CPUs with AVX-VNNI.
 *
 * vpdpbusd multiplies 4 bytes 0..255 by 4 bytes -128..127 and adds the products to a sum of 32
 * bits.  Nothing saturates, so no weights are split; the rest is as in hw/simd/conv_packed.c.
 */
#include "hw/operator_units.h"
#include "hw/simd/conv_finish.h"

#pragma GCC target("avxvnni")

#define VECTOR_BYTES	32u

static __always_inline ovt_u32x8
add_products(ovt_u32x8 sums, ovt_s32x8 inputs, const s8 *weights)
{
	return (ovt_u32x8)__builtin_ia32_vpdpbusd_v8si((ovt_i32x8)sums, (ovt_i32x8)inputs,
						       (ovt_i32x8)ovt_load_s8x32(weights));
}

static __always_inline void
multiply(const struct ovt_conv_strip *strip, const struct ovt_conv_block *block,
	 const u32 pixels, const u32 vectors)
{
	const s8 *weights = block->steps.weights;
	const u32 *at = block->steps.at;
	const u32 *end = block->steps.end;
	struct ovt_simd_sums sums[OVT_STRIP_PIXELS] OVT_SIMD_UNSET;
	u32 p;

#pragma GCC unroll 6
	for (p = 0; p < pixels; p++)
		sums[p] = block->start;
	do {
#pragma GCC unroll 6
		for (p = 0; p < pixels; p++) {
			s32 quad = ovt_load_s32(strip->windows[p] + *at);
			ovt_s32x8 inputs = ovt_broadcast_s32(quad);

			sums[p].low = add_products(sums[p].low, inputs, weights);
			if (vectors == 2)
				sums[p].high = add_products(sums[p].high, inputs,
							    weights + VECTOR_BYTES);
		}
		weights += vectors * VECTOR_BYTES;
	} while (++at != end);
	if (vectors == 1)
		ovt_conv_finish_8(strip, block, sums, pixels);
	else
		ovt_conv_finish_16(strip, block, sums, pixels);
}

/* A copy of multiply() for each shape: its sums stay in registers. */
static __always_inline void
multiply_pixels(const struct ovt_conv_strip *strip, const struct ovt_conv_block *block,
		const u32 vectors)
{
	switch (strip->pixels) {
	case 1:
		multiply(strip, block, 1, vectors);
		break;
	case 2:
		multiply(strip, block, 2, vectors);
		break;
	case 3:
		multiply(strip, block, 3, vectors);
		break;
	case 4:
		multiply(strip, block, 4, vectors);
		break;
	case 5:
		multiply(strip, block, 5, vectors);
		break;
	default:
		multiply(strip, block, 6, vectors);
		break;
	}
}

static OVT_SIMD_NOINLINE void multiply_8(const struct ovt_conv_strip *strip,
					 const struct ovt_conv_block *block)
{
	multiply_pixels(strip, block, 1);
}

static OVT_SIMD_NOINLINE void multiply_16(const struct ovt_conv_strip *strip,
					  const struct ovt_conv_block *block)
{
	multiply_pixels(strip, block, 2);
}

void ovt_conv_vnni(const struct ovt_conv_strip *strip, const struct ovt_conv_block *block)
{
	if (block->count > OVERTAKE_WEIGHT_BLOCK)
		multiply_16(strip, block);
	else
		multiply_8(strip, block);
}
