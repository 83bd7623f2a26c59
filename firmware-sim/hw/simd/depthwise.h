/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef OVT_HW_SIMD_DEPTHWISE_H
#define OVT_HW_SIMD_DEPTHWISE_H

#include "hw/simd/vector_operators.h"

/* Greatest number of taps along an axis of a window that is read in place. */
#define OVT_DEPTHWISE_TAPS	5u
/* Channels that are multiplied at once: by AVX512-VNNI, and by AVX2. */
#define OVT_DEPTHWISE_WIDE	64u
#define OVT_DEPTHWISE_NARROW	16u

/* For windows of 3 x 3 and 5 x 5: reads them in place. */
ovt_simd_covers_function ovt_depthwise_direct_covers;
ovt_simd_run_function ovt_depthwise_direct;

/**
 * struct ovt_windows - a row of outputs
 * @rows: begin of each row of the windows: the tensor's column 0, or @outside
 * @within: mask for the bytes from a row's begin to a column: all bits, or none for @outside
 * @x: the tensor's column in which the first window begins
 * @width: columns of the tensor
 * @pixel_stride: bytes from one column to the next
 * @outside: inputs outside the tensor
 */
struct ovt_windows {
	const s8 *rows[OVT_DEPTHWISE_TAPS];
	u64 within[OVT_DEPTHWISE_TAPS];
	s64 x;
	u32 width;
	u32 pixel_stride;
	s8 outside[OVT_DEPTHWISE_WIDE];
};

/*
 * With AVX512-VNNI: prepares 32 to 64 channels in @scratch, then computes @width outputs of these,
 * from @out on every out.pixel_stride bytes.  The first function returns false if floats are not
 * exact for all of these channels.
 */
bool ovt_depthwise512_load(const struct overtake_insn *insn, const struct ovt_operands *operands,
			   u32 channel, u32 count, struct ovt_simd_scratch *scratch);
void ovt_depthwise512_row(const struct overtake_insn *insn,
			  const struct ovt_windows *windows, s8 *out, u32 width,
			  const struct ovt_simd_scratch *scratch);

#endif
