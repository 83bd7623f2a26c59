/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Through the pixels of a group of CONV, strip by strip. */
#ifndef OVT_HW_SIMD_CONV_WALK_H
#define OVT_HW_SIMD_CONV_WALK_H

#include "hw/simd/conv.h"

/**
 * struct ovt_conv_walk - the next pixel of a group, counted through its rows
 * @inputs: the layout of the group
 * @insn: the instruction
 * @y: output row of the group's first
 * @height: rows of the group
 * @width: its columns; all its pixels, if its rows follow each other
 * @done: pixels before this one
 * @end: the first pixel whose window has other rows of taps inside the tensor, or that is no more
 * @first_row: of these rows of taps
 * @end_row: behind the last
 * @window: of the pixel, in the scratch
 * @output: of the pixel
 * @x: its column, of @width
 * @window_step: bytes from one pixel to the next
 * @output_step: likewise
 * @next_row_window: bytes from behind a row to the next one's first pixel
 * @next_row_output: likewise
 */
struct ovt_conv_walk {
	const struct ovt_simd_inputs *inputs;
	const struct overtake_insn *insn;
	u32 y;
	u32 height;
	u32 width;
	u32 done;
	u32 end;
	u32 first_row;
	u32 end_row;
	const u8 *window;
	s8 *output;
	u32 x;
	u32 window_step;
	u32 output_step;
	u64 next_row_window;
	s64 next_row_output;
};

/*
 * From pixel at->strip on of the group at @at, whose outputs and inputs (@elements) these are.
 * With @skips, what is outside the tensor above and below is not multiplied.
 */
void ovt_conv_walk_from(struct ovt_conv_walk *walk, const struct ovt_simd_inputs *inputs,
			const struct overtake_insn *insn, const struct ovt_operands *operands,
			const void *elements, const struct ovt_cursor *at, bool skips);

/* Past @end: on with other rows of taps. */
void ovt_conv_walk_on(struct ovt_conv_walk *walk);

/* Moves past the strip that it makes: before @end, of at most @most pixels. */
void ovt_conv_place_strip(struct ovt_conv_strip *strip, struct ovt_conv_walk *walk, u32 most);

#endif
