// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "hw/operator_units.h"
#include "hw/simd/conv_walk.h"

/*
 * Returns the first row of taps that is not above the tensor.  The window's first row of taps is at
 * row @top of the tensor.
 */
static u32 first_inside(s64 top, u32 dilation)
{
	return top < 0 ? (u32)((-top + dilation - 1) / dilation) : 0;
}

static u32 end_inside(s64 top, u32 dilation, u32 height, u32 rows)
{
	s64 left = (s64)height - top;
	s64 end = left > 0 ? (left + dilation - 1) / dilation : 0;

	return end < rows ? (u32)end : rows;
}

/*
 * Returns how many output rows have all taps inside, counted from the one whose window begins at
 * @top, which must be such a row.
 */
static u64 rows_all_inside(const struct overtake_insn *insn, s64 top, u32 extent)
{
	return ((u64)(insn->in[0].height - top) - extent) / insn->stride_height + 1;
}

void ovt_conv_walk_on(struct ovt_conv_walk *walk)
{
	const struct overtake_insn *insn = walk->insn;
	u32 dilation = ovt_dilation(insn->dilation_height);
	u32 row = walk->done / walk->width;
	s64 top = (s64)((u64)(walk->y + row) * insn->stride_height) - insn->pad_top;
	u32 rows = insn->kernel_height;
	u64 same = 1;

	walk->first_row = first_inside(top, dilation);
	walk->end_row = end_inside(top, dilation, insn->in[0].height, rows);
	if (walk->first_row == 0 && walk->end_row == rows)
		same = rows_all_inside(insn, top, walk->inputs->extent_y);
	if (walk->first_row >= walk->end_row) {
		walk->first_row = 0;
		walk->end_row = rows;
	}
	if (same > walk->height - row)
		same = walk->height - row;
	walk->end = (row + (u32)same) * walk->width;
}

void ovt_conv_walk_from(struct ovt_conv_walk *walk, const struct ovt_simd_inputs *inputs,
			const struct overtake_insn *insn, const struct ovt_operands *operands,
			const void *elements, const struct ovt_cursor *at, bool skips)
{
	u32 height = ovt_simd_group_height(inputs, insn, at->y);
	u32 width = ovt_simd_group_width(inputs, insn, at->x);
	u32 y = at->strip ? at->strip / width : 0, x = at->strip - y * width;
	struct ovt_cursor pixel = { .y = at->y + y, .x = at->x + x, .c = at->c };

	walk->inputs = inputs;
	walk->insn = insn;
	walk->y = at->y;
	walk->height = height;
	walk->width = width;
	walk->done = at->strip;
	walk->window = (const u8 *)elements + (u64)ovt_simd_window(inputs, y, x) * inputs->size;
	walk->output = ovt_output_at(insn, operands, &pixel);
	walk->x = x;
	walk->window_step = inputs->step_x * inputs->pixel * inputs->size;
	walk->output_step = insn->out.pixel_stride;
	walk->next_row_window = (u64)ovt_simd_window(inputs, 1, 0) * inputs->size -
				(u64)width * walk->window_step;
	walk->next_row_output = (s64)insn->out.row_stride -
				(s64)((u64)width * walk->output_step);
	walk->end = height * width;
	walk->first_row = 0;
	walk->end_row = insn->kernel_height;
	if (skips) {
		ovt_conv_walk_on(walk);
	} else if (!walk->next_row_window && !walk->next_row_output) {
		/* No gaps between rows, in windows and output: walks the group as one row. */
		walk->width = walk->end;
		walk->x = walk->done;
	}
}

/*
 * Returns the pixels of the next strip: @most, or all that are left, if these are fewer.  But if
 * more than @most and fewer than 2 * @most are left, half of them, rounded up, so that the last
 * strip is not short.
 */
static u32 strip_pixels(u32 left, u32 most)
{
	if (left <= most)
		return left;
	return left >= 2 * most ? most : (left + 1) / 2;
}

/* Moves past the end of a row to the first pixel of the next. */
static __always_inline void next_row(struct ovt_conv_walk *walk)
{
	walk->x = 0;
	walk->window += walk->next_row_window;
	walk->output += walk->next_row_output;
}

/* Places pixels of one row.  Pixels behind the last are placed as well, but not used. */
static __always_inline void place_in_row(struct ovt_conv_strip *strip, struct ovt_conv_walk *walk)
{
	const u64 window_step = walk->window_step, output_step = walk->output_step;
	const u8 *window = walk->window;
	s8 *output = walk->output;
	u32 p;

#pragma GCC unroll 6
	for (p = 0; p < OVT_STRIP_PIXELS; p++) {
		strip->windows[p] = window;
		strip->outputs[p] = output;
		window += window_step;
		output += output_step;
	}
	walk->window += strip->pixels * window_step;
	walk->output += strip->pixels * output_step;
	walk->x += strip->pixels;
	if (walk->x == walk->width)
		next_row(walk);
}

void ovt_conv_place_strip(struct ovt_conv_strip *strip, struct ovt_conv_walk *walk, u32 most)
{
	u32 p;

	strip->pixels = strip_pixels(walk->end - walk->done, most);
	walk->done += strip->pixels;
	if (strip->pixels <= walk->width - walk->x) {
		place_in_row(strip, walk);
		return;
	}
	for (p = 0; p < strip->pixels; p++) {
		strip->windows[p] = walk->window;
		strip->outputs[p] = walk->output;
		walk->window += walk->window_step;
		walk->output += walk->output_step;
		if (++walk->x == walk->width)
			next_row(walk);
	}
}

void ovt_conv_place_row(struct ovt_conv_row *row, struct ovt_conv_walk *walk, s64 work,
			s64 pixel_work)
{
	const u32 left = walk->end - walk->done, in_row = walk->width - walk->x;
	u32 pixels = left < in_row ? left : in_row;
	s64 most = work / pixel_work;

	if (most < OVT_ROW_STRIP)
		most = OVT_ROW_STRIP;
	if (pixels > most)
		pixels = (u32)most;
	*row = (struct ovt_conv_row){ walk->window, walk->output, walk->window_step,
				      walk->output_step, row->sums, NULL, pixels };
	walk->done += pixels;
	walk->window += pixels * row->window_step;
	walk->output += pixels * row->output_step;
	walk->x += pixels;
	if (walk->x == walk->width)
		next_row(walk);
}
