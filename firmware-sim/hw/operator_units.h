/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What the operators share: one function per opcode computes one unit of work.
 *
 * A unit is @count channels of output pixel (at->y, at->x), from at->c on; it never crosses
 * a multiple of the opcode's run length, so the bytes do not depend on where a caller
 * paused.  Returns the elementary operations spent.
 */
#ifndef OVT_HW_OPERATOR_UNITS_H
#define OVT_HW_OPERATOR_UNITS_H

#include "hw/operators.h"

#define OVT_UNIT_CHANNELS	OVERTAKE_WEIGHT_BLOCK

typedef s64 ovt_unit_function(const struct overtake_insn *insn, const struct ovt_operands *operands,
			      const struct ovt_cursor *at, u32 count);

ovt_unit_function ovt_unit_conv;
ovt_unit_function ovt_unit_depthwise;
ovt_unit_function ovt_unit_matmul;
ovt_unit_function ovt_unit_max_pool;
ovt_unit_function ovt_unit_average_pool;
ovt_unit_function ovt_unit_add;
ovt_unit_function ovt_unit_table;
ovt_unit_function ovt_unit_copy;

/* value / 2^shift rounded half to even; shift is taken into 1..62. */
s64 ovt_round_shift(s64 value, u32 shift);

/* The part of a window that lies inside the input, in kernel and input coordinates. */
struct ovt_window {
	u32 kernel_y;
	u32 kernel_x;
	u32 y;
	u32 x;
	u32 rows;
	u32 columns;
};

static inline void ovt_window_axis(u32 output, u32 stride, u32 pad, u32 kernel, u32 inputs,
				   u32 *kernel_first, u32 *first, u32 *count)
{
	s64 begin = (s64)((u64)output * stride) - pad;
	s64 end = begin + kernel;

	*kernel_first = begin < 0 ? (u32)-begin : 0;
	*first = begin < 0 ? 0 : (u32)begin;
	*count = (u32)(end < (s64)inputs ? end : (s64)inputs) - *first;
}

static inline struct ovt_window ovt_window_at(const struct overtake_insn *insn,
					      const struct ovt_cursor *at)
{
	struct ovt_window window;

	ovt_window_axis(at->y, insn->stride_height, insn->pad_top, insn->kernel_height,
			insn->in[0].height, &window.kernel_y, &window.y, &window.rows);
	ovt_window_axis(at->x, insn->stride_width, insn->pad_left, insn->kernel_width,
			insn->in[0].width, &window.kernel_x, &window.x, &window.columns);
	return window;
}

static inline u64 ovt_element_offset(const struct overtake_operand *operand, u32 y, u32 x, u32 c)
{
	return (u64)y * operand->row_stride + (u64)x * operand->pixel_stride + c;
}

static inline s8 *ovt_output_at(const struct overtake_insn *insn,
				const struct ovt_operands *operands, const struct ovt_cursor *at)
{
	return (s8 *)operands->out + ovt_element_offset(&insn->out, at->y, at->x, at->c);
}

static inline const s8 *ovt_input_at(const struct overtake_insn *insn,
				     const struct ovt_operands *operands, u32 index,
				     u32 y, u32 x, u32 c)
{
	return (const s8 *)operands->in[index] +
	       ovt_element_offset(&insn->in[index], y, x, c);
}

/* A word of the parameters; regions need not be aligned in the host's memory. */
static inline u32 ovt_param(const struct ovt_operands *operands, u64 index)
{
	u32 word;

	memcpy(&word, operands->params + index * sizeof(word), sizeof(word));
	return word;
}

static inline s8 ovt_clamp(const struct overtake_insn *insn, s64 value)
{
	if (value < insn->clamp_min)
		return (s8)insn->clamp_min;
	return value > insn->clamp_max ? (s8)insn->clamp_max : (s8)value;
}

#endif
