/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* A walk through the pixels of a group of CONV, strip by strip. */
#ifndef OVT_HW_SIMD_CONV_WALK_H
#define OVT_HW_SIMD_CONV_WALK_H

#include "hw/simd/conv.h"

/**
 * struct ovt_conv_walk - the next pixel of a group; pixels are counted row by row
 * @inputs: the layout of the group
 * @insn: the instruction
 * @y: output row of the group's first row
 * @height: rows of the group
 * @width: columns of the group; without skips all its pixels, if its rows follow each other
 * @done: pixels of the group before the next one
 * @end: the pixel at which other rows of taps may begin, or the number of the group's pixels
 * @first_row: the first row of taps that is multiplied up to @end
 * @end_row: the row of taps behind the last that is multiplied
 * @window: window of the next pixel, in the scratch
 * @output: output of the next pixel
 * @x: column of the next pixel, below @width
 * @window_step: bytes from the window of a pixel to that of the next
 * @output_step: bytes from the output of a pixel to that of the next
 * @next_row_window: bytes from the end of a row's windows to the next row's first window
 * @next_row_output: bytes from the end of a row's outputs to the next row's first output
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
 * Begins a walk at pixel at->strip of the group at @at, whose inputs are @elements.  With @skips,
 * rows of taps above and below the tensor are not multiplied, unless no row of taps is inside: then
 * all rows are multiplied.
 */
void ovt_conv_walk_from(struct ovt_conv_walk *walk, const struct ovt_simd_inputs *inputs,
			const struct overtake_insn *insn, const struct ovt_operands *operands,
			const void *elements, const struct ovt_cursor *at, bool skips);

/* Goes on at @end with the rows of taps of the next pixels. */
void ovt_conv_walk_on(struct ovt_conv_walk *walk);

/*
 * Makes the next row, before @end, and moves behind it: a strip at least, and no more than @work
 * allows at @pixel_work for each pixel.  Keeps @row's @sums; its @added is NULL.
 */
void ovt_conv_place_row(struct ovt_conv_row *row, struct ovt_conv_walk *walk, s64 work,
			s64 pixel_work);

/* Makes the next strip, before @end and of at most @most pixels, and moves behind it. */
void ovt_conv_place_strip(struct ovt_conv_strip *strip, struct ovt_conv_walk *walk, u32 most);

#endif
