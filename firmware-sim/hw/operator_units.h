/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Declarations that the operators share: one function per opcode computes one unit of work.
 *
 * A unit is @count channels of output pixel (at->y, at->x), from at->c on; it never crosses
 * a multiple of the opcode's run length, so the bytes do not depend on where a caller
 * paused.  Functions that add up many inputs leave at->row and at->column at the inputs that come
 * next, 0 when the outputs are stored.  Each returns the elementary operations spent.
 */
#ifndef OVT_HW_OPERATOR_UNITS_H
#define OVT_HW_OPERATOR_UNITS_H

#include "hw/operators.h"

#define OVT_UNIT_CHANNELS	OVERTAKE_WEIGHT_BLOCK

typedef s64 ovt_unit_function(const struct overtake_insn *insn, const struct ovt_operands *operands,
			      struct ovt_cursor *at, u32 count);

ovt_unit_function ovt_unit_conv;
ovt_unit_function ovt_unit_depthwise;
ovt_unit_function ovt_unit_matmul;
ovt_unit_function ovt_unit_transposed_conv;
ovt_unit_function ovt_unit_max_pool;
ovt_unit_function ovt_unit_average_pool;
ovt_unit_function ovt_unit_add;
ovt_unit_function ovt_unit_sub;
ovt_unit_function ovt_unit_mul;
ovt_unit_function ovt_unit_max;
ovt_unit_function ovt_unit_min;
ovt_unit_function ovt_unit_requantise;
ovt_unit_function ovt_unit_table;
ovt_unit_function ovt_unit_copy;
ovt_unit_function ovt_unit_pad;
ovt_unit_function ovt_unit_permute;
ovt_unit_function ovt_unit_depth_to_space;
ovt_unit_function ovt_unit_space_to_depth;
ovt_unit_function ovt_unit_resize_nearest;
ovt_unit_function ovt_unit_resize_bilinear;
ovt_unit_function ovt_unit_reduce_sum;
ovt_unit_function ovt_unit_reduce_max;
ovt_unit_function ovt_unit_reduce_min;
ovt_unit_function ovt_unit_quantise;
ovt_unit_function ovt_unit_dequantise;
ovt_unit_function ovt_unit_nv12;

/*
 * Returns value / 2^shift, rounded half to even.  The shift is clamped to 1..62; the value is
 * within 2^62 + 2^56.
 */
s64 ovt_round_shift(s64 value, u32 shift);

/**
 * union ovt_sums - accumulators of the outputs of a unit
 * @narrow: sums of products of bytes; they wrap
 * @wide: sums where an input has 16 bits; they do not wrap
 */
union ovt_sums {
	u32 narrow[OVT_UNIT_CHANNELS];
	s64 wide[OVT_UNIT_CHANNELS];
};

/*
 * Turns the accumulators @sums of @count outputs from at->c on into outputs, by bias, multiplier
 * and shift of each channel, and stores them.  @count is at most OVT_UNIT_CHANNELS.
 */
void ovt_store_sums(const struct overtake_insn *insn, const struct ovt_operands *operands,
		    const struct ovt_cursor *at, u32 count, const union ovt_sums *sums);

/**
 * struct ovt_block_weights - CONV's and TRANSPOSED_CONV's weights of a block of 8 outputs
 * @weights: weights of the first tap
 * @row: bytes from one row of taps to the next
 * @tap: bytes from one tap to the next
 * @first_input: first input channel of the block's group
 * @inputs: input channels of the group
 */
struct ovt_block_weights {
	const s8 *weights;
	u64 row;
	u64 tap;
	u32 first_input;
	u32 inputs;
};

static inline struct ovt_block_weights ovt_block_weights_at(const struct overtake_insn *insn,
							    const struct ovt_operands *operands,
							    const struct ovt_cursor *at)
{
	u32 outputs = insn->out.channels / insn->groups;
	u32 inputs = insn->in[0].channels / insn->groups;
	u32 group = at->c / outputs;
	u64 block = (u64)group * ((outputs + 7ull) / 8) + at->c % outputs / 8;
	u64 tap = (inputs + 1ull) / OVERTAKE_WEIGHT_INPUTS * OVERTAKE_WEIGHT_TILE;
	u64 row = tap * insn->kernel_width;

	return (struct ovt_block_weights){
		.weights = (const s8 *)operands->weights + block * insn->kernel_height * row,
		.row = row,
		.tap = tap,
		.first_input = group * inputs,
		.inputs = inputs,
	};
}

/*
 * Adds to 8 sums the products of @inputs elements of in[0], of one pixel from @in on, with weights
 * [i / 2][8 o][2 i].
 */
void ovt_multiply_pixel(union ovt_sums *sums, const struct overtake_insn *insn, const s8 *in,
			const s8 *weights, u32 inputs);

/*
 * The taps of a window that lie inside the input: @rows x @columns taps (@rows is 0 if there is
 * none) from tap (@kernel_y, @kernel_x) on, which is at (@y, @x) of the input.  Neighbouring taps
 * are @row_step rows or @column_step columns apart.
 */
struct ovt_window {
	u32 kernel_y;
	u32 kernel_x;
	u32 y;
	u32 x;
	u32 rows;
	u32 columns;
	u32 row_step;
	u32 column_step;
};

/*
 * The decoder made sure that the window begins before the input's end and ends behind its begin:
 * neither subtraction is below 0.  Positions are below 2^32 * 2^16.
 */
static inline void ovt_window_axis(u32 output, u32 stride, u32 pad, u32 kernel, u32 dilation,
				   u32 inputs, u32 *kernel_first, u32 *first, u32 *count)
{
	s64 begin = (s64)((u64)output * stride) - pad;
	u32 left_out = begin < 0 ? (u32)(-begin + dilation - 1) / dilation : 0;
	u64 tap = (u64)(begin + (s64)left_out * dilation);
	u32 taps = 0;

	if (tap < inputs)
		taps = (inputs - 1 - (u32)tap) / dilation + 1;
	*kernel_first = left_out;
	*first = (u32)tap;
	*count = taps < kernel - left_out ? taps : kernel - left_out;
}

static inline struct ovt_window ovt_window_at(const struct overtake_insn *insn,
					      const struct ovt_cursor *at)
{
	struct ovt_window window;

	window.row_step = ovt_dilation(insn->dilation_height);
	window.column_step = ovt_dilation(insn->dilation_width);
	ovt_window_axis(at->y, insn->stride_height, insn->pad_top, insn->kernel_height,
			window.row_step, insn->in[0].height, &window.kernel_y, &window.y,
			&window.rows);
	ovt_window_axis(at->x, insn->stride_width, insn->pad_left, insn->kernel_width,
			window.column_step, insn->in[0].width, &window.kernel_x, &window.x,
			&window.columns);
	if (!window.columns)
		window.rows = 0;
	return window;
}

/*
 * Returns the positions of one axis of a window that lie at most @after behind the input, inside
 * which the window begins.
 */
static inline u32 ovt_clipped_axis(u32 output, u32 stride, u32 pad, u32 kernel, u32 inputs,
				   u32 after)
{
	s64 begin = (s64)((u64)output * stride) - pad;
	s64 left = (s64)inputs + after - begin;

	return left < kernel ? (u32)left : kernel;
}

/* Returns the number of positions of the window that an average is over, at least 1. */
static inline u32 ovt_positions_counted(const struct overtake_insn *insn,
					const struct ovt_cursor *at, u32 inside)
{
	if (insn->flags & OVERTAKE_FLAG_CLIP_PAD)
		return ovt_clipped_axis(at->y, insn->stride_height, insn->pad_top,
					insn->kernel_height, insn->in[0].height,
					insn->pad_bottom) *
		       ovt_clipped_axis(at->x, insn->stride_width, insn->pad_left,
					insn->kernel_width, insn->in[0].width, insn->pad_right);
	if (insn->flags & OVERTAKE_FLAG_COUNT_INCLUDE_PAD)
		return (u32)insn->kernel_height * insn->kernel_width;
	return inside;
}

static inline u64 ovt_element_offset(const struct overtake_operand *operand, u32 y, u32 x, u32 c)
{
	return (u64)y * operand->row_stride + (u64)x * operand->pixel_stride +
	       (u64)c * ovt_element_bytes(operand);
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

/*
 * Returns element at->c + @i of the pixel, @i below @count, for operators that use it as an index.
 * Where a loop goes beyond its end under speculation, strides lead anywhere: a value that is read
 * there must not become an address, of which the client could see traces in its own memory.  So
 * each coordinate stays inside the tensor, under speculation as well.
 */
static inline u32 ovt_index_at(const struct overtake_insn *insn,
			       const struct ovt_operands *operands, const struct ovt_cursor *at,
			       u32 i, u32 count)
{
	const struct overtake_operand *in = &insn->in[0];
	u32 y = ovt_index_nospec(at->y, in->height);
	u32 x = ovt_index_nospec(at->x, in->width);
	u32 c = ovt_index_nospec(at->c + ovt_index_nospec(i, count), in->channels);

	const u8 *element = (const u8 *)ovt_input_at(insn, operands, 0, y, x, c);
	u32 last = ovt_element_bytes(in) - 1;

	/* No branch decides how many bits count: a byte leads to 256 elements, guessed or not. */
	return (element[0] | (u32)element[last] << 8) & ((256u << 8 * last) - 1);
}

/* Returns the address of channel @c of in[0] at tap (@row, @column) of @window. */
static inline const s8 *ovt_tap_at(const struct overtake_insn *insn,
				   const struct ovt_operands *operands,
				   const struct ovt_window *window, u32 row, u32 column, u32 c)
{
	return ovt_input_at(insn, operands, 0, window->y + row * window->row_step,
			    window->x + column * window->column_step, c);
}

/* Returns word @index of the parameters; regions need not be aligned in the host's memory. */
static inline u32 ovt_param(const struct ovt_operands *operands, u64 index)
{
	u32 word;

	memcpy(&word, operands->params + index * sizeof(word), sizeof(word));
	return word;
}

/* Returns element @i of @elements, which have type @type. */
static inline s32 ovt_load(const s8 *elements, u32 type, u64 i)
{
	s16 wide;

	if (type == OVERTAKE_TYPE_INT8)
		return elements[i];
	memcpy(&wide, elements + i * sizeof(wide), sizeof(wide));
	return wide;
}

static inline void ovt_store(s8 *elements, u32 type, u64 i, s32 value)
{
	s16 wide = (s16)value;

	if (type == OVERTAKE_TYPE_INT8)
		elements[i] = (s8)value;
	else
		memcpy(elements + i * sizeof(wide), &wide, sizeof(wide));
}

static inline s32 ovt_clamp(const struct overtake_insn *insn, s64 value)
{
	value = value < insn->clamp_min ? insn->clamp_min : value;
	return (s32)(value > insn->clamp_max ? insn->clamp_max : value);
}

#endif
