// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * CONV, DEPTHWISE and MATMUL: sums of products, requantised per output channel.
 *
 * Accumulators are u32, in which wrapping modulo 2^32 is defined; a sum of two products
 * fits in s32 and is added as such.
 */
#include "hw/operator_units.h"
#include "hw/terms.h"

void ovt_store_sums(const struct overtake_insn *insn, const struct ovt_operands *operands,
		    const struct ovt_cursor *at, u32 count, const u32 *sums)
{
	u64 padded = ((u64)insn->out.channels + 7) / 8 * 8;
	s8 *out = ovt_output_at(insn, operands, at);
	u32 i;

	for (i = 0; i < count; i++) {
		u64 channel = (u64)at->c + i;
		s32 acc = (s32)(ovt_param(operands, channel) + sums[i]);
		s64 scaled = ovt_requantise(acc, ovt_param(operands, padded + channel),
					    ovt_param(operands, 2 * padded + channel));

		out[i] = ovt_clamp(insn, scaled + insn->out.zero_point);
	}
}

#define OUTPUTS_AT_ONCE	4u

/* One or two inputs times a tile of weights, [8 o][2 i], into some of its outputs. */
static inline void multiply_tile(u32 *sums, s32 first, s32 second, const s8 *tile)
{
	u32 o;

	for (o = 0; o < OUTPUTS_AT_ONCE; o++)
		sums[o] += (u32)(first * tile[2 * o] + second * tile[2 * o + 1]);
}

/* A few outputs at once: their sums stay in registers. */
void ovt_multiply_pixel(u32 *sums, const s8 *in, s32 zero_point, const s8 *weights, u32 inputs)
{
	u32 o, i, pixel_sums[OUTPUTS_AT_ONCE];

	for (o = 0; o < OVERTAKE_WEIGHT_BLOCK; o += OUTPUTS_AT_ONCE) {
		const s8 *tile = weights + OVERTAKE_WEIGHT_INPUTS * o;

		memcpy(pixel_sums, sums + o, sizeof(pixel_sums));
		for (i = 0; i + 1 < inputs; i += OVERTAKE_WEIGHT_INPUTS) {
			multiply_tile(pixel_sums, in[i] - zero_point, in[i + 1] - zero_point, tile);
			tile += OVERTAKE_WEIGHT_TILE;
		}
		if (i < inputs)
			multiply_tile(pixel_sums, in[i] - zero_point, 0, tile);
		memcpy(sums + o, pixel_sums, sizeof(pixel_sums));
	}
}

/* Adds term @x of a row of taps: a tap, or some of the inputs of one. */
static inline void add_tap(u32 *sums, const struct overtake_insn *insn,
			   const struct ovt_operands *operands, const struct ovt_window *window,
			   const struct ovt_block_weights *block, u32 parts, u32 y, u32 x)
{
	u32 column = parts == 1 ? x : x / parts;
	u32 first = (x - column * parts) * OVT_TERM_INPUTS;
	const s8 *weights = block->weights + (window->kernel_y + y) * block->row +
			    (window->kernel_x + column) * block->tap +
			    (u64)first * OVERTAKE_WEIGHT_BLOCK;

	ovt_multiply_pixel(sums, ovt_tap_at(insn, operands, window, y, column,
					    block->first_input + first),
			   insn->in[0].zero_point, weights, ovt_term_inputs(block->inputs - first));
}

s64 ovt_unit_conv(const struct overtake_insn *insn, const struct ovt_operands *operands,
		  struct ovt_cursor *at, u32 count)
{
	struct ovt_block_weights block = ovt_block_weights_at(insn, operands, at);
	struct ovt_window window = ovt_window_at(insn, at);
	u32 term_work = ovt_term_inputs(block.inputs) * OVT_UNIT_CHANNELS;
	u32 parts = ovt_terms_of(block.inputs);
	struct ovt_terms terms = ovt_terms_at(at, window.rows, window.columns * parts, term_work);
	u32 sums[OVT_UNIT_CHANNELS] = { 0 };
	s64 work = 0;
	u32 x;

	if (!ovt_terms_begin(at))
		memcpy(sums, at->results, sizeof(sums));
	while (ovt_terms_next(&terms)) {
		for (x = terms.column; x < terms.column + terms.count; x++)
			add_tap(sums, insn, operands, &window, &block, parts, terms.row, x);
		work += (s64)terms.count * term_work;
	}
	if (ovt_terms_end(&terms, at, sums, sizeof(sums)))
		ovt_store_sums(insn, operands, at, count, sums);
	return work;
}

s64 ovt_unit_depthwise(const struct overtake_insn *insn, const struct ovt_operands *operands,
		       struct ovt_cursor *at, u32 count)
{
	u64 pixel_weights = ((u64)insn->out.channels + 7) / 8 * 8;
	u64 row_weights = pixel_weights * insn->kernel_width;
	struct ovt_window window = ovt_window_at(insn, at);
	struct ovt_terms terms = ovt_terms_at(at, window.rows, window.columns, OVT_UNIT_CHANNELS);
	u32 sums[OVT_UNIT_CHANNELS] = { 0 };
	s64 work = 0;
	u32 x, i;

	if (!ovt_terms_begin(at))
		memcpy(sums, at->results, sizeof(sums));
	while (ovt_terms_next(&terms)) {
		const s8 *factors = (const s8 *)operands->weights + at->c +
				    (window.kernel_y + terms.row) * row_weights +
				    (window.kernel_x + terms.column) * pixel_weights;

		for (x = terms.column; x < terms.column + terms.count; x++) {
			const s8 *in = ovt_tap_at(insn, operands, &window, terms.row, x, at->c);

			for (i = 0; i < count; i++)
				sums[i] += (u32)((in[i] - insn->in[0].zero_point) * factors[i]);
			factors += pixel_weights;
		}
		work += (s64)terms.count * OVT_UNIT_CHANNELS;
	}
	if (ovt_terms_end(&terms, at, sums, sizeof(sums)))
		ovt_store_sums(insn, operands, at, count, sums);
	return work;
}

/* Of two rows of @count elements. */
static u32 multiply_rows(const s8 *a, s32 a_zero_point, const s8 *b, s32 b_zero_point, u32 count)
{
	u32 sum = 0;
	u32 k;

	for (k = 0; k < count; k++)
		sum += (u32)((a[k] - a_zero_point) * (b[k] - b_zero_point));
	return sum;
}

s64 ovt_unit_matmul(const struct overtake_insn *insn, const struct ovt_operands *operands,
		    struct ovt_cursor *at, u32 count)
{
	const s8 *a = ovt_input_at(insn, operands, 0, at->y, at->x, 0);
	u32 batch = insn->in[1].height == 1 ? 0 : at->y;
	struct ovt_terms terms = ovt_terms_at(at, count, insn->in[0].channels, 1);
	u32 sums[OVT_UNIT_CHANNELS] = { 0 };
	s64 work = 0;

	if (!ovt_terms_begin(at))
		memcpy(sums, at->results, sizeof(sums));
	while (ovt_terms_next(&terms)) {
		const s8 *b = ovt_input_at(insn, operands, 1, batch, at->c + terms.row,
					   terms.column);

		sums[terms.row] += multiply_rows(a + terms.column, insn->in[0].zero_point, b,
						 insn->in[1].zero_point, terms.count);
		work += terms.count;
	}
	if (ovt_terms_end(&terms, at, sums, sizeof(sums)))
		ovt_store_sums(insn, operands, at, count, sums);
	return work;
}
