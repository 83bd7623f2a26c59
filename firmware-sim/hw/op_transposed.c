// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * TRANSPOSED_CONV, gathering: for each output element the taps that reach it are found.
 *
 * Along one axis tap k brings input i to output o when i * stride = o + pad - k * dilation.  These
 * taps are a period apart.  Each tap brings an input that is a fixed step before that of the tap
 * in front of it.
 */
#include "hw/operator_units.h"
#include "hw/terms.h"

/* Work of finding the taps of a unit: at most some seventy divisions (two reach_of()). */
#define FIND_WORK	128

/*
 * Taps of one axis: @count taps, from @tap on, every @tap_step.  They bring inputs from @input on
 * backwards, every @input_step.
 */
struct reach {
	u32 tap;
	u32 tap_step;
	u32 input;
	u32 input_step;
	u32 count;
};

/*
 * Returns the greatest common divisor of @a and @modulus by Euclid's extended algorithm.  Sets
 * *@inverse, between -@modulus and @modulus, so that the divisor is the rest of *@inverse * @a
 * divided by @modulus.
 */
static u32 greatest_divisor(u32 a, u32 modulus, s32 *inverse)
{
	u32 last = modulus;
	s32 factor = 1;

	*inverse = 0;
	while (a) {
		u32 quotient = last / a, rest = last % a;
		s32 next = *inverse - (s32)quotient * factor;

		last = a;
		a = rest;
		*inverse = factor;
		factor = next;
	}
	return last;
}

/* Positions are below 2^32 + 2^16; strides, dilations and kernels below 2^16. */
static struct reach reach_of(u32 output, u32 stride, u32 pad, u32 kernel, u32 dilation, u32 inputs)
{
	s32 inverse;
	u32 divisor = greatest_divisor(dilation, stride, &inverse);
	u64 position = (u64)output + pad;
	u64 beyond = (u64)inputs * stride;
	u32 period = stride / divisor;
	struct reach reach = { .tap_step = period, .input_step = dilation / divisor };
	u64 tap = 0, last = position / dilation;
	u32 residue;

	if (position % divisor)
		return reach;
	/* Taps before this one would bring elements behind the input. */
	if (position >= beyond)
		tap = (position - beyond) / dilation + 1;
	/* The first tap from there on whose distance to the position is a multiple of stride. */
	inverse %= (s32)period;
	if (inverse < 0)
		inverse += (s32)period;
	residue = (u32)(position / divisor % period * (u32)inverse % period);
	tap += (residue + period - (u32)(tap % period)) % period;
	/* Taps after this one would lie outside the kernel or bring elements before the input. */
	last = last < kernel - 1u ? last : kernel - 1u;
	if (tap > last)
		return reach;
	reach.tap = (u32)tap;
	reach.input = (u32)((position - tap * dilation) / stride);
	reach.count = (u32)(last - tap) / period + 1;
	return reach;
}

/* Adds term @x of a row of taps: a tap, or some of the inputs of one. */
static inline void add_tap(union ovt_sums *sums, const struct overtake_insn *insn,
			   const struct ovt_operands *operands, const struct reach *rows,
			   const struct reach *columns, const struct ovt_block_weights *block,
			   u32 parts, u32 y, u32 x)
{
	u32 column = parts == 1 ? x : x / parts;
	u32 first = (x - column * parts) * OVT_TERM_INPUTS;
	const s8 *in = ovt_input_at(insn, operands, 0, rows->input - y * rows->input_step,
				    columns->input - column * columns->input_step,
				    block->first_input + first);
	const s8 *weights = block->weights + (rows->tap + y * rows->tap_step) * block->row +
			    (columns->tap + column * columns->tap_step) * block->tap +
			    (u64)first * OVERTAKE_WEIGHT_BLOCK;

	ovt_multiply_pixel(sums, insn, in, weights, ovt_term_inputs(block->inputs - first));
}

s64 ovt_unit_transposed_conv(const struct overtake_insn *insn, const struct ovt_operands *operands,
			     struct ovt_cursor *at, u32 count)
{
	struct ovt_block_weights block = ovt_block_weights_at(insn, operands, at);
	struct reach rows = reach_of(at->y, insn->stride_height, insn->pad_top,
				     insn->kernel_height, ovt_dilation(insn->dilation_height),
				     insn->in[0].height);
	struct reach columns = reach_of(at->x, insn->stride_width, insn->pad_left,
					insn->kernel_width, ovt_dilation(insn->dilation_width),
					insn->in[0].width);
	u32 term_work = ovt_term_inputs(block.inputs) * OVT_UNIT_CHANNELS;
	u32 parts = ovt_terms_of(block.inputs);
	struct ovt_terms terms = ovt_terms_at(at, columns.count ? rows.count : 0,
					      columns.count * parts, term_work);
	union ovt_sums sums = { 0 };
	s64 work = FIND_WORK;
	u32 x;

	if (!ovt_terms_begin(at))
		memcpy(&sums, at->results, sizeof(sums));
	while (ovt_terms_next(&terms)) {
		for (x = terms.column; x < terms.column + terms.count; x++)
			add_tap(&sums, insn, operands, &rows, &columns, &block, parts, terms.row,
				x);
		work += (s64)terms.count * term_work;
	}
	if (ovt_terms_end(&terms, at, &sums, sizeof(sums)))
		ovt_store_sums(insn, operands, at, count, &sums);
	return work;
}
