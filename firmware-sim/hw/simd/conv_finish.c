// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "hw/simd/conv_finish.h"

OVT_SIMD_NOINLINE void ovt_conv_finish_double_16(const struct ovt_conv_strip *strip,
						 const struct ovt_conv_block *block)
{
	u32 p;

	for (p = 0; p < strip->pixels; p++)
		ovt_simd_store(strip->outputs[p],
			       ovt_simd_requantise_double(&strip->sums[p], &block->channels),
			       block->count);
}

OVT_SIMD_NOINLINE void ovt_conv_finish_double_8(const struct ovt_conv_strip *strip,
						const struct ovt_conv_block *block)
{
	u32 p;

	for (p = 0; p < strip->pixels; p += 2) {
		u32 second = p + 1 < strip->pixels ? p + 1 : p;
		struct ovt_simd_sums sums = { strip->sums[p].low, strip->sums[second].low };
		ovt_s8x16 bytes = ovt_simd_requantise_double(&sums, &block->channels);
		ovt_s64x2 pixels = ovt_conv_pixels_of_8(bytes);

		ovt_conv_store_8(strip->outputs[p], (u64)pixels[0], block->count);
		ovt_conv_store_8(strip->outputs[second], (u64)pixels[1], block->count);
	}
}

OVT_SIMD_NOINLINE void ovt_conv_store_some(const struct ovt_conv_strip *strip, u32 count)
{
	const s8 *bytes = (const s8 *)strip->sums;
	u32 p;

	for (p = 0; p < strip->pixels; p++)
		memcpy(strip->outputs[p], bytes + p / 2 * sizeof(*strip->sums) + p % 2 * 16, count);
}
