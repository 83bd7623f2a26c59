/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Vector operators that go through the output in the scalar order: channels, pixels, rows. */
#ifndef OVT_HW_SIMD_PIXELS_H
#define OVT_HW_SIMD_PIXELS_H

#include "hw/operators.h"
#include "hw/simd/vector.h"

/*
 * struct ovt_simd_run - elements that follow each other in out and in all inputs
 * @elements: number of elements from the cursor on, at most 4096
 * @length: length of their run: a pixel, or a whole row if no tensor has padding
 */
struct ovt_simd_run {
	u32 elements;
	u32 length;
};

#define OVT_SIMD_RUN_ELEMENTS	4096u

/* Whether @operand has no padding from pixel to pixel. */
static inline bool ovt_simd_is_dense(const struct overtake_operand *operand)
{
	return operand->pixel_stride == (u64)operand->channels * ovt_element_bytes(operand);
}

/* Returns the run of a pixel, or of a @row, whose bytes are below 2^32 as row strides are. */
static inline struct ovt_simd_run ovt_simd_run_of(const struct overtake_insn *insn,
						  const struct ovt_cursor *cursor, bool row)
{
	u32 channels = insn->out.channels;
	struct ovt_simd_run run = { .length = row ? insn->out.width * channels : channels };

	run.elements = run.length - cursor->c;
	if (run.elements > OVT_SIMD_RUN_ELEMENTS)
		run.elements = OVT_SIMD_RUN_ELEMENTS;
	return run;
}

/*
 * Moves @cursor past @run; returns false past the last pixel.  In a row that is one run, @c goes
 * beyond a pixel.
 */
static inline bool ovt_simd_run_next(const struct overtake_insn *insn, struct ovt_cursor *cursor,
				     const struct ovt_simd_run *run)
{
	cursor->c += run->elements;
	if (cursor->c < run->length)
		return true;
	return ovt_cursor_next_pixels(insn, cursor, 1, run->length / insn->out.channels);
}

/* Loads 8 or, where @readable allows, 16 bytes from @from on, with zeros behind them. */
static __always_inline ovt_s8x16 ovt_simd_load_channels(const s8 *from, u64 readable)
{
	if (readable >= 16)
		return ovt_load_s8x16(from);
	return (ovt_s8x16)(ovt_s64x2) { (s64)ovt_load_u64(from), 0 };
}

/* Loads exactly @count bytes, at most 16, with zeros behind them. */
static __always_inline ovt_s8x16 ovt_simd_load_exactly(const s8 *from, u32 count)
{
	s8 bytes[16] = { 0 };

	if (count == 16)
		return ovt_load_s8x16(from);
	memcpy(bytes, from, count);
	return ovt_load_s8x16(bytes);
}

#endif
