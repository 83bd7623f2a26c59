/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The part of in[0] that a group of windows needs, made ready for multiplication: either 16-bit
 * elements, with the zero point subtracted, and zeros where a window leaves the tensor; or unsigned
 * bytes, with 128 added, and zero points where a window leaves the tensor.
 */
#ifndef OVT_HW_SIMD_INPUTS_H
#define OVT_HW_SIMD_INPUTS_H

#include "hw/simd/simd.h"

/**
 * struct ovt_simd_inputs - the layout of a group of @height x @width output pixels' windows
 * @height: greatest number of rows of output pixels of a group
 * @width: greatest number of columns of output pixels of a group
 * @step_y: rows of inputs from one row of windows to the next
 * @step_x: columns of inputs from one window to the next
 * @sample_y: rows of the tensor from one row of inputs to the next
 * @sample_x: columns of the tensor from one column of inputs to the next
 * @extent_y: rows of inputs that a window spans
 * @extent_x: columns of inputs that a window spans
 * @channels: channels of the tensor that a window sees
 * @pixel: elements from one column of inputs to the next
 * @row: elements from one row of inputs to the next, if the group is @width wide
 * @size: bytes of an element
 */
struct ovt_simd_inputs {
	u32 height;
	u32 width;
	u32 step_y;
	u32 step_x;
	u32 sample_y;
	u32 sample_x;
	u32 extent_y;
	u32 extent_x;
	u32 channels;
	u32 pixel;
	u32 row;
	u32 size;
};

/*
 * ovt_simd_inputs_plan - lay out windows that see @channels channels
 * @align: the elements of a column of inputs are a multiple of this: 2 or OVT_SIMD_OUTPUTS
 *
 * Returns false if the window of one pixel does not fit into the scratch, or if filling it takes
 * more work than OVT_SIMD_UNIT.  No group takes more.
 */
bool ovt_simd_inputs_plan(struct ovt_simd_inputs *inputs, const struct overtake_insn *insn,
			  u32 channels, u32 align);

/*
 * Whether filling takes less time than the scalar operators take for the group: @outputs for each
 * pixel, with @products for each tap of an output.  Of dilated or far strided windows, many inputs
 * are filled but never multiplied.
 */
bool ovt_simd_inputs_pay(const struct ovt_simd_inputs *inputs, const struct overtake_insn *insn,
			 u32 outputs, u32 products);

/* Makes groups no wider than @width, at least 1. */
void ovt_simd_inputs_narrow(struct ovt_simd_inputs *inputs, u32 width);

/* Makes the layout of the same groups as bytes, where a column is a multiple of 4 bytes. */
void ovt_simd_inputs_as_bytes(struct ovt_simd_inputs *bytes, const struct ovt_simd_inputs *words);

/* Return the rows and columns of output pixels in the group that begins at (@y, @x). */
static inline u32 ovt_simd_group_height(const struct ovt_simd_inputs *inputs,
					const struct overtake_insn *insn, u32 y)
{
	u32 left = insn->out.height - y;

	return left < inputs->height ? left : inputs->height;
}

static inline u32 ovt_simd_group_width(const struct ovt_simd_inputs *inputs,
				       const struct overtake_insn *insn, u32 x)
{
	u32 left = insn->out.width - x;

	return left < inputs->width ? left : inputs->width;
}

/* Moves @cursor to the next group's pixels; returns false past the last. */
static inline bool ovt_simd_next_group(const struct ovt_simd_inputs *inputs,
				       const struct overtake_insn *insn, struct ovt_cursor *cursor)
{
	return ovt_cursor_next_pixels(insn, cursor, ovt_simd_group_height(inputs, insn, cursor->y),
				      ovt_simd_group_width(inputs, insn, cursor->x));
}

/*
 * Fills @to for the group at (@y, @x) with channels from @first_channel on.  Elements that align a
 * column add nothing to sums, like those outside the tensor.  Returns the work: it takes about as
 * many nanoseconds, or fewer.
 */
s64 ovt_simd_inputs_fill(const struct ovt_simd_inputs *inputs, const struct overtake_insn *insn,
			 const struct ovt_operands *operands, u32 y, u32 x, u32 first_channel,
			 void *to);

/* Returns the first element of the window of the group's pixel (@y, @x), counted from its first. */
static inline u32 ovt_simd_window(const struct ovt_simd_inputs *inputs, u32 y, u32 x)
{
	return y * inputs->step_y * inputs->row + x * inputs->step_x * inputs->pixel;
}

#endif
