// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * CONV, DEPTHWISE and MATMUL: sums of products, requantised per output channel.
 *
 * Accumulators of bytes are u32, in which wrapping modulo 2^32 is defined; a sum of two products
 * fits in s32 and is added as such.  Accumulators of inputs of 16 bits are s64, within
 * 2^38 + 2^30.
 */
#include "hw/operator_units.h"
#include "hw/terms.h"

/* A sum of products of two 16-bit elements loses so many low bits before the bias is added. */
#define WIDE_PRODUCT_BITS	8u

static bool sums_are_wide(const struct overtake_insn *insn)
{
	return insn->in[0].type || insn->in[1].type;
}

/* Returns @bias plus a sum, in the width of the sums of @insn. */
static inline s64 accumulator(const struct overtake_insn *insn, const union ovt_sums *sums, u32 i,
			      u32 bias)
{
	if (!sums_are_wide(insn))
		return (s32)(bias + sums->narrow[i]);
	if (!insn->in[0].type || !insn->in[1].type)
		return sums->wide[i] + (s32)bias;
	return ovt_round_shift(sums->wide[i], WIDE_PRODUCT_BITS) + (s32)bias;
}

void ovt_store_sums(const struct overtake_insn *insn, const struct ovt_operands *operands,
		    const struct ovt_cursor *at, u32 count, const union ovt_sums *sums)
{
	u64 padded = ((u64)insn->out.channels + 7) / 8 * 8;
	s8 *out = ovt_output_at(insn, operands, at);
	u32 i;

	for (i = 0; i < count; i++) {
		u64 channel = (u64)at->c + i;
		s64 acc = accumulator(insn, sums, i, ovt_param(operands, channel));
		s64 scaled = ovt_requantise(acc, ovt_param(operands, padded + channel),
					    ovt_param(operands, 2 * padded + channel));

		ovt_store(out, insn->out.type, i, ovt_clamp(insn, scaled + insn->out.zero_point));
	}
}

#define OUTPUTS_AT_ONCE	4u

/* Adds one or two inputs times a tile of weights, [8 o][2 i], to some of its outputs. */
static inline void multiply_tile(u32 *sums, s32 first, s32 second, const s8 *tile)
{
	u32 o;

	for (o = 0; o < OUTPUTS_AT_ONCE; o++)
		sums[o] += (u32)(first * tile[2 * o] + second * tile[2 * o + 1]);
}

/* Computes OUTPUTS_AT_ONCE outputs at once: their sums stay in registers. */
static void multiply_bytes(u32 *sums, const s8 *in, s32 zero_point, const s8 *weights, u32 inputs)
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

/* A term has at most OVT_TERM_INPUTS inputs: a sum of theirs fits in 32 bits but for its sign. */
static void multiply_wide(s64 *sums, const s8 *in, const s8 *weights, u32 inputs)
{
	u32 o, i;

	for (i = 0; i < inputs; i++) {
		s64 factor = ovt_load(in, OVERTAKE_TYPE_INT16, i);
		const s8 *column = weights + i / OVERTAKE_WEIGHT_INPUTS * OVERTAKE_WEIGHT_TILE +
				   i % OVERTAKE_WEIGHT_INPUTS;

		for (o = 0; o < OVERTAKE_WEIGHT_BLOCK; o++)
			sums[o] += factor * column[OVERTAKE_WEIGHT_INPUTS * o];
	}
}

void ovt_multiply_pixel(union ovt_sums *sums, const struct overtake_insn *insn, const s8 *in,
			const s8 *weights, u32 inputs)
{
	if (insn->in[0].type)
		multiply_wide(sums->wide, in, weights, inputs);
	else
		multiply_bytes(sums->narrow, in, insn->in[0].zero_point, weights, inputs);
}

/* Adds term @x of a row of taps: a tap, or some of the inputs of one. */
static inline void add_tap(union ovt_sums *sums, const struct overtake_insn *insn,
			   const struct ovt_operands *operands, const struct ovt_window *window,
			   const struct ovt_block_weights *block, u32 parts, u32 y, u32 x)
{
	u32 column = parts == 1 ? x : x / parts;
	u32 first = (x - column * parts) * OVT_TERM_INPUTS;
	const s8 *weights = block->weights + (window->kernel_y + y) * block->row +
			    (window->kernel_x + column) * block->tap +
			    (u64)first * OVERTAKE_WEIGHT_BLOCK;

	ovt_multiply_pixel(sums, insn,
			   ovt_tap_at(insn, operands, window, y, column,
				      block->first_input + first),
			   weights, ovt_term_inputs(block->inputs - first));
}

s64 ovt_unit_conv(const struct overtake_insn *insn, const struct ovt_operands *operands,
		  struct ovt_cursor *at, u32 count)
{
	struct ovt_block_weights block = ovt_block_weights_at(insn, operands, at);
	struct ovt_window window = ovt_window_at(insn, at);
	u32 term_work = ovt_term_inputs(block.inputs) * OVT_UNIT_CHANNELS;
	u32 parts = ovt_terms_of(block.inputs);
	struct ovt_terms terms = ovt_terms_at(at, window.rows, window.columns * parts, term_work);
	union ovt_sums sums = { 0 };
	s64 work = 0;
	u32 x;

	if (!ovt_terms_begin(at))
		memcpy(&sums, at->results, sizeof(sums));
	while (ovt_terms_next(&terms)) {
		for (x = terms.column; x < terms.column + terms.count; x++)
			add_tap(&sums, insn, operands, &window, &block, parts, terms.row, x);
		work += (s64)terms.count * term_work;
	}
	if (ovt_terms_end(&terms, at, &sums, sizeof(sums)))
		ovt_store_sums(insn, operands, at, count, &sums);
	return work;
}

/* Adds one tap of each of @count channels. */
static inline void multiply_channels(union ovt_sums *sums, const struct overtake_insn *insn,
				     const s8 *in, const s8 *factors, u32 count)
{
	u32 i;

	if (insn->in[0].type) {
		for (i = 0; i < count; i++)
			sums->wide[i] += ovt_load(in, OVERTAKE_TYPE_INT16, i) * factors[i];
		return;
	}
	for (i = 0; i < count; i++)
		sums->narrow[i] += (u32)((in[i] - insn->in[0].zero_point) * factors[i]);
}

s64 ovt_unit_depthwise(const struct overtake_insn *insn, const struct ovt_operands *operands,
		       struct ovt_cursor *at, u32 count)
{
	u64 pixel_weights = ((u64)insn->out.channels + 7) / 8 * 8;
	u64 row_weights = pixel_weights * insn->kernel_width;
	struct ovt_window window = ovt_window_at(insn, at);
	struct ovt_terms terms = ovt_terms_at(at, window.rows, window.columns, OVT_UNIT_CHANNELS);
	union ovt_sums sums = { 0 };
	s64 work = 0;
	u32 x;

	if (!ovt_terms_begin(at))
		memcpy(&sums, at->results, sizeof(sums));
	while (ovt_terms_next(&terms)) {
		const s8 *factors = (const s8 *)operands->weights + at->c +
				    (window.kernel_y + terms.row) * row_weights +
				    (window.kernel_x + terms.column) * pixel_weights;

		for (x = terms.column; x < terms.column + terms.count; x++) {
			const s8 *in = ovt_tap_at(insn, operands, &window, terms.row, x, at->c);

			multiply_channels(&sums, insn, in, factors, count);
			factors += pixel_weights;
		}
		work += (s64)terms.count * OVT_UNIT_CHANNELS;
	}
	if (ovt_terms_end(&terms, at, &sums, sizeof(sums)))
		ovt_store_sums(insn, operands, at, count, &sums);
	return work;
}

/* Returns the sum of products of two rows of @count elements. */
static u32 multiply_rows(const s8 *a, s32 a_zero_point, const s8 *b, s32 b_zero_point, u32 count)
{
	u32 sum = 0;
	u32 k;

	for (k = 0; k < count; k++)
		sum += (u32)((a[k] - a_zero_point) * (b[k] - b_zero_point));
	return sum;
}

/* Returns the sum of products of two rows, of which one or both have 16 bits. */
static s64 multiply_wide_rows(const struct overtake_insn *insn, const s8 *a, const s8 *b,
			      u32 count)
{
	s64 sum = 0;
	u32 k;

	for (k = 0; k < count; k++)
		sum += (s64)(ovt_load(a, insn->in[0].type, k) - insn->in[0].zero_point) *
		       (ovt_load(b, insn->in[1].type, k) - insn->in[1].zero_point);
	return sum;
}

s64 ovt_unit_matmul(const struct overtake_insn *insn, const struct ovt_operands *operands,
		    struct ovt_cursor *at, u32 count)
{
	u32 batch = insn->in[1].height == 1 ? 0 : at->y;
	struct ovt_terms terms = ovt_terms_at(at, count, insn->in[0].channels, 1);
	bool wide = sums_are_wide(insn);
	union ovt_sums sums = { 0 };
	s64 work = 0;

	if (!ovt_terms_begin(at))
		memcpy(&sums, at->results, sizeof(sums));
	while (ovt_terms_next(&terms)) {
		const s8 *a = ovt_input_at(insn, operands, 0, at->y, at->x, terms.column);
		const s8 *b = ovt_input_at(insn, operands, 1, batch, at->c + terms.row,
					   terms.column);

		if (wide)
			sums.wide[terms.row] += multiply_wide_rows(insn, a, b, terms.count);
		else
			sums.narrow[terms.row] += multiply_rows(a, insn->in[0].zero_point, b,
								insn->in[1].zero_point,
								terms.count);
		work += terms.count;
	}
	if (ovt_terms_end(&terms, at, &sums, sizeof(sums)))
		ovt_store_sums(insn, operands, at, count, &sums);
	return work;
}
