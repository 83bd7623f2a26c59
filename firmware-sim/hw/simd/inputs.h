/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The part of in[0] that a group of windows needs, made ready for multiplication: 16-bit
 * elements, zero point subtracted, zeros where a window leaves the tensor.  Or unsigned bytes, 128
 * added, zero points where it leaves the tensor.
 */
#ifndef OVT_HW_SIMD_INPUTS_H
#define OVT_HW_SIMD_INPUTS_H

#include "hw/simd/simd.h"

/**
 * struct ovt_simd_inputs - the layout of a group of @height x @width output pixels' windows
 * @height: rows of output pixels of a group, at most
 * @width: columns of output pixels of a group, at most
 * @step_y: rows of inputs from one row of windows to the next
 * @step_x: columns of inputs from one window to the next
 * @sample_y: rows of the tensor from one row of inputs to the next
 * @sample_x: columns of the tensor from one column of inputs to the next
 * @extent_y: rows of inputs that a window spans
 * @extent_x: columns of inputs that a window spans
 * @channels: of the tensor, that a window sees
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
 * @align: elements that a column of inputs is a multiple of: 2 or OVT_SIMD_OUTPUTS
 *
 * False if the window of one pixel does not fit into the scratch, or fills it with more than
 * OVT_SIMD_UNIT of work.  No group does.
 */
bool ovt_simd_inputs_plan(struct ovt_simd_inputs *inputs, const struct overtake_insn *insn,
			  u32 channels, u32 align);

/*
 * Whether filling takes less than the scalar operators do for the outputs that it is for: @outputs
 * of each pixel, @products in each for a tap.  Much of what dilated or far strided windows span is
 * not multiplied at all.
 */
bool ovt_simd_inputs_pay(const struct ovt_simd_inputs *inputs, const struct overtake_insn *insn,
			 u32 outputs, u32 products);

/* Makes groups no wider than @width, at least 1. */
void ovt_simd_inputs_narrow(struct ovt_simd_inputs *inputs, u32 width);

/* The layout of the same groups as bytes, a column a multiple of 4 of them. */
void ovt_simd_inputs_as_bytes(struct ovt_simd_inputs *bytes, const struct ovt_simd_inputs *words);

/* Rows and columns of output pixels in the group that begins at (@y, @x). */
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

/* Moves @cursor to the next group's pixels; false past the last. */
static inline bool ovt_simd_next_group(const struct ovt_simd_inputs *inputs,
				       const struct overtake_insn *insn, struct ovt_cursor *cursor)
{
	return ovt_cursor_next_pixels(insn, cursor, ovt_simd_group_height(inputs, insn, cursor->y),
				      ovt_simd_group_width(inputs, insn, cursor->x));
}

/*
 * Fills @to for the group at (@y, @x) with channels from @first_channel on; what aligns a column
 * weighs nothing, as what is outside the tensor.  Returns what that takes, in nanoseconds or less.
 */
s64 ovt_simd_inputs_fill(const struct ovt_simd_inputs *inputs, const struct overtake_insn *insn,
			 const struct ovt_operands *operands, u32 y, u32 x, u32 first_channel,
			 void *to);

/* Where the window of the group's pixel (@y, @x), counted from its first, begins: in elements. */
static inline u32 ovt_simd_window(const struct ovt_simd_inputs *inputs, u32 y, u32 x)
{
	return y * inputs->step_y * inputs->row + x * inputs->step_x * inputs->pixel;
}

#endif
