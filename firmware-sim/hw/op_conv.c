// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * CONV, DEPTHWISE and MATMUL: sums of products, requantised per output channel.
 *
 * Accumulators are u32, in which wrapping modulo 2^32 is defined; a sum of two products
 * fits in s32 and is added as such.
 */
#include "hw/operator_units.h"

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

s64 ovt_unit_conv(const struct overtake_insn *insn, const struct ovt_operands *operands,
		  const struct ovt_cursor *at, u32 count)
{
	struct ovt_block_weights block = ovt_block_weights_at(insn, operands, at);
	struct ovt_window window = ovt_window_at(insn, at);
	u32 sums[OVT_UNIT_CHANNELS] = { 0 };
	u32 y, x;

	for (y = 0; y < window.rows; y++) {
		const s8 *weights = block.weights + (window.kernel_y + y) * block.row +
				    window.kernel_x * block.tap;

		for (x = 0; x < window.columns; x++)
			ovt_multiply_pixel(sums, ovt_tap_at(insn, operands, &window, y, x,
							    block.first_input),
					   insn->in[0].zero_point, weights + x * block.tap,
					   block.inputs);
	}
	ovt_store_sums(insn, operands, at, count, sums);
	return (s64)window.rows * window.columns * block.inputs * OVT_UNIT_CHANNELS;
}

s64 ovt_unit_depthwise(const struct overtake_insn *insn, const struct ovt_operands *operands,
		       const struct ovt_cursor *at, u32 count)
{
	u64 pixel_weights = ((u64)insn->out.channels + 7) / 8 * 8;
	u64 row_weights = pixel_weights * insn->kernel_width;
	struct ovt_window window = ovt_window_at(insn, at);
	const s8 *weights = (const s8 *)operands->weights + at->c +
			    window.kernel_y * row_weights + window.kernel_x * pixel_weights;
	u32 sums[OVT_UNIT_CHANNELS] = { 0 };
	u32 y, x, i;

	for (y = 0; y < window.rows; y++, weights += row_weights) {
		const s8 *factors = weights;

		for (x = 0; x < window.columns; x++, factors += pixel_weights) {
			const s8 *in = ovt_tap_at(insn, operands, &window, y, x, at->c);

			for (i = 0; i < count; i++)
				sums[i] += (u32)((in[i] - insn->in[0].zero_point) * factors[i]);
		}
	}
	ovt_store_sums(insn, operands, at, count, sums);
	return (s64)window.rows * window.columns * OVT_UNIT_CHANNELS;
}

s64 ovt_unit_matmul(const struct overtake_insn *insn, const struct ovt_operands *operands,
		    const struct ovt_cursor *at, u32 count)
{
	const s8 *a = ovt_input_at(insn, operands, 0, at->y, at->x, 0);
	u32 batch = insn->in[1].height == 1 ? 0 : at->y;
	u32 depth = insn->in[0].channels;
	u32 sums[OVT_UNIT_CHANNELS];
	u32 i, k;

	for (i = 0; i < count; i++) {
		const s8 *b = ovt_input_at(insn, operands, 1, batch, at->c + i, 0);
		u32 sum = 0;

		for (k = 0; k < depth; k++)
			sum += (u32)((a[k] - insn->in[0].zero_point) *
				     (b[k] - insn->in[1].zero_point));
		sums[i] = sum;
	}
	ovt_store_sums(insn, operands, at, count, sums);
	return (s64)depth * count;
}
