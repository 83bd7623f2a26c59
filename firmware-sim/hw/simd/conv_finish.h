/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Turns the sums of a strip of CONV, which are in registers, into its outputs. */
#ifndef OVT_HW_SIMD_CONV_FINISH_H
#define OVT_HW_SIMD_CONV_FINISH_H

#include "hw/simd/conv.h"

/* Finish strip->sums with doubles: of 16 outputs, or of 8, which are the low sums. */
void ovt_conv_finish_double_16(const struct ovt_conv_strip *strip,
			       const struct ovt_conv_block *block);
void ovt_conv_finish_double_8(const struct ovt_conv_strip *strip,
			      const struct ovt_conv_block *block);

/* Stores the first @count of 16 bytes of each pixel; strip->sums[i] holds those of two pixels. */
void ovt_conv_store_some(const struct ovt_conv_strip *strip, u32 count);

/* Stores the first @count of 8 bytes, without a call of memcpy() for each pixel. */
static __always_inline void ovt_conv_store_8(s8 *out, u64 bytes, u32 count)
{
	if (count == OVERTAKE_WEIGHT_BLOCK) {
		ovt_store_u64(out, bytes);
		return;
	}
	if (count & 4) {
		ovt_store_s32(out, (s32)bytes);
		out += 4;
		bytes >>= 32;
	}
	if (count & 2) {
		out[0] = (s8)bytes;
		out[1] = (s8)(bytes >> 8);
		out += 2;
		bytes >>= 16;
	}
	if (count & 1)
		out[0] = (s8)bytes;
}

/* Stores the first @count of 16 bytes, fewer than 16.  Some CPUs take long for a masked store. */
static __always_inline void ovt_conv_store_part(s8 *out, ovt_s8x16 bytes, u32 count)
{
	const ovt_s64x2 words = (ovt_s64x2)bytes;
	u64 last = (u64)words[0];

	if (count >= OVERTAKE_WEIGHT_BLOCK) {
		ovt_store_u64(out, last);
		out += OVERTAKE_WEIGHT_BLOCK;
		last = (u64)words[1];
	}
	if (count % OVERTAKE_WEIGHT_BLOCK)
		ovt_conv_store_8(out, last, count % OVERTAKE_WEIGHT_BLOCK);
}

/* Puts the 8 outputs of two pixels, in packed order, into the order of memory. */
static __always_inline ovt_s64x2 ovt_conv_pixels_of_8(ovt_s8x16 bytes)
{
	return (ovt_s64x2)__builtin_ia32_pshufd((ovt_i32x4)bytes, 0xd8);
}

/* Whether all sums are small enough for floats, which is often so even if they need not be. */
static __always_inline bool
ovt_conv_all_small(const struct ovt_simd_sums *sums, const u32 pixels, const u32 vectors)
{
	const ovt_u32x8 most = (ovt_u32x8)ovt_broadcast_s32(OVT_SINGLE_MAX);
	ovt_u32x8 bits = { 0 };
	u32 p;

	/* Numbers that are too large are below -2^24, or 2^24 and above. */
#pragma GCC unroll 6
	for (p = 0; p < pixels; p++) {
		bits |= sums[p].low + most;
		if (vectors == 2)
			bits |= sums[p].high + most;
	}
	return __builtin_ia32_ptestz256((ovt_i64x4)bits, (ovt_i64x4)~(2 * most - 1));
}

static __always_inline bool
ovt_conv_floats_fit(const struct ovt_conv_block *block, const struct ovt_simd_sums *sums,
		    const u32 pixels, const u32 vectors)
{
	if (block->channels.sums_fit)
		return true;
	return block->channels.factors_fit && ovt_conv_all_small(sums, pixels, vectors);
}

static __always_inline void
ovt_conv_finish_16(const struct ovt_conv_strip *strip, const struct ovt_conv_block *block,
		   const struct ovt_simd_sums *sums, const u32 pixels)
{
	ovt_s8x32 bytes[OVT_STRIP_PIXELS / 2];
	u32 p;

	if (!ovt_conv_floats_fit(block, sums, pixels, 2)) {
#pragma GCC unroll 6
		for (p = 0; p < pixels; p++)
			strip->sums[p] = sums[p];
		ovt_conv_finish_double_16(strip, block);
		return;
	}
#pragma GCC unroll 3
	for (p = 0; p < pixels; p += 2)
		bytes[p / 2] = ovt_simd_requantise_single(&sums[p],
							  &sums[p + 1 < pixels ? p + 1 : p],
							  &block->channels);
	if (block->count != OVT_SIMD_OUTPUTS) {
#pragma GCC unroll 3
		for (p = 0; p < pixels; p += 2)
			ovt_store_s8x32(&strip->sums[p / 2], bytes[p / 2]);
		ovt_conv_store_some(strip, block->count);
		return;
	}
#pragma GCC unroll 3
	for (p = 0; p < pixels; p += 2) {
		ovt_store_s8x16(strip->outputs[p], ovt_simd_first(bytes[p / 2]));
		if (p + 1 < pixels)
			ovt_store_s8x16(strip->outputs[p + 1], ovt_simd_second(bytes[p / 2]));
	}
}

static __always_inline void
ovt_conv_finish_8(const struct ovt_conv_strip *strip, const struct ovt_conv_block *block,
		  const struct ovt_simd_sums *sums, const u32 pixels)
{
	u32 p, i;

	if (!ovt_conv_floats_fit(block, sums, pixels, 1)) {
#pragma GCC unroll 6
		for (p = 0; p < pixels; p++)
			strip->sums[p].low = sums[p].low;
		ovt_conv_finish_double_8(strip, block);
		return;
	}
#pragma GCC unroll 2
	for (p = 0; p < pixels; p += 4) {
		const u32 last = pixels - 1, count = pixels - p < 4 ? pixels - p : 4;
		struct ovt_simd_sums pairs[2] = {
			{ sums[p].low, sums[p + 1 < last ? p + 1 : last].low },
			{ sums[p + 2 < last ? p + 2 : last].low,
			  sums[p + 3 < last ? p + 3 : last].low },
		};
		ovt_s8x32 bytes = ovt_simd_requantise_single(&pairs[0], &pairs[1],
							     &block->channels);
		ovt_s64x2 first = ovt_conv_pixels_of_8(ovt_simd_first(bytes));
		ovt_s64x2 second = ovt_conv_pixels_of_8(ovt_simd_second(bytes));
		const u64 each[4] = { (u64)first[0], (u64)first[1], (u64)second[0],
				      (u64)second[1] };

#pragma GCC unroll 4
		for (i = 0; i < count; i++)
			ovt_conv_store_8(strip->outputs[p + i], each[i], block->count);
	}
}

#endif
