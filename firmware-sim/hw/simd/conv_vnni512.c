// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * CONV with bytes, for CPUs with AVX512-VNNI.
 *
 * vpdpbusd multiplies 4 bytes 0..255 by 4 bytes -128..127 and adds the products to a sum of 32
 * bits; nothing saturates.  A vector has 16 outputs, in the order of struct ovt_simd_sums, whose
 * two halves are one vector here.  Pixels of a row are cut into strips of up to 8, which are
 * multiplied by two blocks of 16 outputs: 16 sums hide the latency of the additions, and a step
 * loads 10 vectors for 16 products.
 *
 * For one pixel, each weight is used once.  A step takes four tiles [8 o][2 i] as the client has
 * them, 64 bytes, and one permutation makes [8 o][8 i] of them: two sums of each output.
 */
#include "hw/operator_units.h"
#include "hw/simd/conv_finish.h"
#include "hw/simd/vector512.h"

#define VECTOR_BYTES	64u
/* Two tiles of a block. */
#define TILES_BYTES	(2u * OVERTAKE_WEIGHT_TILE)
/* Sums of one pixel, so that an addition need not wait for the one before it. */
#define CHAINS		4u

/* How 16 outputs are finished with floats. */
struct finish {
	ovt_f32x16 factors;
	ovt_s32x16 zero;
};

static __always_inline struct finish finish_of(const struct ovt_conv_block *block)
{
	const struct ovt_simd_channels *channels = &block->channels;

	return (struct finish){
		.factors = (ovt_f32x16)ovt_load_s32x16(&channels->factors),
		.zero = ovt_broadcast_s32x16((s32)channels->single.zero[0]),
	};
}

/* Turns sums into words, as ovt_simd_single_round() does. */
static __always_inline ovt_s32x16 round_sums(ovt_s32x16 sums, const struct finish *finish)
{
	const ovt_f32x16 bias = (ovt_f32x16)ovt_broadcast_s32x16(OVT_SINGLE_BIAS_BITS);
	ovt_f32x16 rounded = ovt_fma_512(ovt_to_f32_512(sums), finish->factors, bias);

	return (ovt_s32x16)((ovt_u32x16)rounded - (ovt_u32x16)finish->zero);
}

/* Whether the sums of @pixels pixels of a block are small enough for floats. */
static __always_inline bool
floats_fit(const struct ovt_conv_block *block, const ovt_s32x16 *sums, const u32 pixels)
{
	const ovt_u32x16 most = (ovt_u32x16)ovt_broadcast_s32x16(OVT_SINGLE_MAX);
	ovt_u32x16 bits = { 0 };
	u32 p;

	if (block->channels.sums_fit)
		return true;
	if (!block->channels.factors_fit)
		return false;
#pragma GCC unroll 8
	for (p = 0; p < pixels; p++)
		bits |= (ovt_u32x16)sums[p] + most;
	return !ovt_any_512(bits, ~(2 * most - 1));
}

/* Finishes strip->sums with doubles. */
static OVT_SIMD_NOINLINE void
finish_double(const struct ovt_conv_row *strip, const struct ovt_conv_block *block, u32 pixels)
{
	u32 p;

	for (p = 0; p < pixels; p++)
		ovt_simd_store(strip->output + p * strip->output_step,
			       ovt_simd_requantise_double(&strip->sums[p], &block->channels),
			       block->count);
}

/*
 * Packs four vectors of words as bytes, in the order of memory.  Packing leaves outputs 0..3 of all
 * vectors, then 8..11, 4..7 and 12..15.
 */
static __always_inline ovt_i32x16
pack_words(const ovt_s32x16 *words, const struct ovt_conv_block *block)
{
	const ovt_s32x16 order = { 0, 8, 4, 12, 1, 9, 5, 13, 2, 10, 6, 14, 3, 11, 7, 15 };
	const struct ovt_simd_single *single = &block->channels.single;
	const ovt_s32x16 least = ovt_broadcast_s32x16(((const ovt_s32x8 *)&single->least)[0][0]);
	const ovt_s32x16 greatest =
		ovt_broadcast_s32x16(((const ovt_s32x8 *)&single->greatest)[0][0]);
	ovt_i16x32 first = ovt_pack_words_512(words[0], words[1]);
	ovt_i16x32 second = ovt_pack_words_512(words[2], words[3]);
	ovt_c8x64 bytes = ovt_clamp_bytes_512(ovt_pack_bytes_512(first, second),
					      (ovt_c8x64)least, (ovt_c8x64)greatest);

	return ovt_permute_512(bytes, order);
}

static __always_inline void store(s8 *out, ovt_s8x16 bytes, u32 count)
{
	if (count == OVT_SIMD_OUTPUTS)
		ovt_store_s8x16(out, bytes);
	else
		ovt_conv_store_part(out, bytes, count);
}

/* Stores the outputs of one block whose sums are small enough for floats. */
static __always_inline void
finish_one(const struct ovt_conv_row *strip, const struct ovt_conv_block *block,
	   const ovt_s32x16 *sums, const u32 pixels)
{
	const struct finish finish = finish_of(block);
	s8 *output = strip->output;
	u32 p, i;

#pragma GCC unroll 2
	for (p = 0; p < pixels; p += 4) {
		const u32 count = pixels - p < 4 ? pixels - p : 4;
		ovt_s32x16 words[4] = { { 0 }, { 0 }, { 0 }, { 0 } };
		ovt_i32x16 bytes;

#pragma GCC unroll 4
		for (i = 0; i < count; i++)
			words[i] = round_sums(sums[p + i], &finish);
		bytes = pack_words(words, block);
		store(output, ovt_quarter_512(bytes, 0), block->count);
		if (count > 1)
			store(output + strip->output_step, ovt_quarter_512(bytes, 1), block->count);
		output += 2 * strip->output_step;
		if (count > 2)
			store(output, ovt_quarter_512(bytes, 2), block->count);
		if (count > 3)
			store(output + strip->output_step, ovt_quarter_512(bytes, 3), block->count);
		output += 2 * strip->output_step;
	}
}

/* Stores the outputs of a pixel in two blocks, of which the second may have fewer than 16. */
static __always_inline void
store_two(s8 *output, ovt_s8x32 bytes, const struct ovt_conv_block *second)
{
	if (second->count == OVT_SIMD_OUTPUTS) {
		ovt_store_s8x32(output, bytes);
		return;
	}
	ovt_store_s8x16(output, ovt_simd_first(bytes));
	ovt_conv_store_part(output + OVT_SIMD_OUTPUTS, ovt_simd_second(bytes), second->count);
}

/* The same for two blocks, whose outputs follow each other. */
static __always_inline void
finish_two(const struct ovt_conv_row *strip, const struct ovt_conv_block *blocks,
	   const ovt_s32x16 *low, const ovt_s32x16 *high, const u32 pixels)
{
	const struct finish first = finish_of(&blocks[0]), second = finish_of(&blocks[1]);
	const u32 last = pixels - 1;
	s8 *output = strip->output;
	u32 p;

#pragma GCC unroll 4
	for (p = 0; p < pixels; p += 2) {
		const u32 next = p + 1 < last ? p + 1 : last;
		const ovt_s32x16 words[4] = {
			round_sums(low[p], &first), round_sums(high[p], &second),
			round_sums(low[next], &first), round_sums(high[next], &second),
		};
		ovt_i32x16 bytes = pack_words(words, blocks);

		store_two(output, ovt_half_512(bytes, 0), &blocks[1]);
		output += strip->output_step;
		if (p + 1 < pixels)
			store_two(output, ovt_half_512(bytes, 1), &blocks[1]);
		output += strip->output_step;
	}
}

static __always_inline void
finish_block(const struct ovt_conv_row *strip, const struct ovt_conv_block *block,
	     const ovt_s32x16 *sums, const u32 pixels)
{
	u32 p;

	if (floats_fit(block, sums, pixels)) {
		finish_one(strip, block, sums, pixels);
		return;
	}
#pragma GCC unroll 8
	for (p = 0; p < pixels; p++)
		ovt_store_s32x16(&strip->sums[p], sums[p]);
	finish_double(strip, block, pixels);
}

static __always_inline void
finish_blocks(const struct ovt_conv_row *strip, const struct ovt_conv_block *blocks,
	      const ovt_s32x16 *low, const ovt_s32x16 *high, const u32 pixels)
{
	struct ovt_conv_row second = *strip;

	if (floats_fit(&blocks[0], low, pixels) && floats_fit(&blocks[1], high, pixels)) {
		finish_two(strip, blocks, low, high, pixels);
		return;
	}
	second.output += OVT_SIMD_OUTPUTS;
	finish_block(strip, &blocks[0], low, pixels);
	finish_block(&second, &blocks[1], high, pixels);
}

static __always_inline ovt_s32x16 input_quad(const u8 *window, u64 at)
{
	return ovt_broadcast_s32x16(ovt_load_s32(window + at));
}

static __always_inline void
add_to_pixels(ovt_s32x16 *sums, const u32 *added, const u32 pixels)
{
	u32 p;

#pragma GCC unroll 8
	for (p = 0; p < pixels; p++)
		sums[p] = (ovt_s32x16)((ovt_u32x16)sums[p] +
				       (ovt_u32x16)ovt_broadcast_s32x16((s32)added[p]));
}

/* Multiplies @pixels pixels by two blocks of 16 outputs. */
static __always_inline void
multiply_two(const struct ovt_conv_row *strip, const struct ovt_conv_block *blocks,
	     const u32 pixels)
{
	const s8 *weights = blocks[0].steps.weights;
	const s64 second = blocks[1].steps.weights - weights;
	const u32 *at = blocks[0].steps.at, *end = blocks[0].steps.end;
	ovt_s32x16 low[OVT_ROW_STRIP] OVT_SIMD_UNSET, high[OVT_ROW_STRIP] OVT_SIMD_UNSET;
	const u8 *windows[OVT_ROW_STRIP] OVT_SIMD_UNSET;
	u32 p;

#pragma GCC unroll 8
	for (p = 0; p < pixels; p++) {
		windows[p] = strip->window + p * strip->window_step;
		low[p] = ovt_load_s32x16(&blocks[0].start);
		high[p] = ovt_load_s32x16(&blocks[1].start);
	}
	if (strip->added) {
		add_to_pixels(low, strip->added, pixels);
		add_to_pixels(high, strip->added, pixels);
	}
	do {
		ovt_s32x16 first_weights = ovt_load_s32x16(weights);
		ovt_s32x16 second_weights = ovt_load_s32x16(weights + second);

#pragma GCC unroll 8
		for (p = 0; p < pixels; p++) {
			ovt_s32x16 inputs = input_quad(windows[p], *at);

			low[p] = ovt_add_products_512(low[p], inputs, first_weights);
			high[p] = ovt_add_products_512(high[p], inputs, second_weights);
		}
		weights += VECTOR_BYTES;
	} while (++at != end);
	finish_blocks(strip, blocks, low, high, pixels);
}

/* Multiplies @pixels pixels by one block: even and odd steps have sums of their own. */
static __always_inline void
multiply_one(const struct ovt_conv_row *strip, const struct ovt_conv_block *block, const u32 pixels)
{
	const s8 *weights = block->steps.weights;
	const u32 *at = block->steps.at, *end = block->steps.end;
	ovt_s32x16 even[OVT_ROW_STRIP] OVT_SIMD_UNSET, odd[OVT_ROW_STRIP] OVT_SIMD_UNSET;
	const u8 *windows[OVT_ROW_STRIP] OVT_SIMD_UNSET;
	u32 p;

#pragma GCC unroll 8
	for (p = 0; p < pixels; p++) {
		windows[p] = strip->window + p * strip->window_step;
		even[p] = ovt_load_s32x16(&block->start);
		odd[p] = (ovt_s32x16) { 0 };
	}
	if (strip->added)
		add_to_pixels(even, strip->added, pixels);
	for (; end - at >= 2; at += 2, weights += 2 * VECTOR_BYTES) {
		ovt_s32x16 first_weights = ovt_load_s32x16(weights);
		ovt_s32x16 second_weights = ovt_load_s32x16(weights + VECTOR_BYTES);

#pragma GCC unroll 8
		for (p = 0; p < pixels; p++) {
			even[p] = ovt_add_products_512(even[p], input_quad(windows[p], at[0]),
						       first_weights);
			odd[p] = ovt_add_products_512(odd[p], input_quad(windows[p], at[1]),
						      second_weights);
		}
	}
#pragma GCC unroll 8
	for (p = 0; p < pixels; p++)
		even[p] = (ovt_s32x16)((ovt_u32x16)even[p] + (ovt_u32x16)odd[p]);
	if (at != end) {
		ovt_s32x16 last_weights = ovt_load_s32x16(weights);

#pragma GCC unroll 8
		for (p = 0; p < pixels; p++)
			even[p] = ovt_add_products_512(even[p], input_quad(windows[p], *at),
						       last_weights);
	}
	finish_block(strip, block, even, pixels);
}

/* A copy of multiply_one() or multiply_two() for each shape: its sums stay in registers. */
static __always_inline void
multiply(const struct ovt_conv_row *strip, const struct ovt_conv_block *blocks, const u32 pixels,
	 const bool two)
{
	if (two)
		multiply_two(strip, blocks, pixels);
	else
		multiply_one(strip, blocks, pixels);
}

/* Cuts a row into strips of nearly the same length. */
static __always_inline void multiply_row(const struct ovt_conv_row *row,
					 const struct ovt_conv_block *blocks, const bool two)
{
	struct ovt_conv_row strip = *row;
	u32 strips = (row->pixels + OVT_ROW_STRIP - 1) / OVT_ROW_STRIP;
	u32 length = row->pixels / strips, longer = row->pixels % strips;

	for (; strips; strips--) {
		u32 pixels = strips <= longer ? length + 1 : length;

		switch (pixels) {
		case 1:
			multiply(&strip, blocks, 1, two);
			break;
		case 2:
			multiply(&strip, blocks, 2, two);
			break;
		case 3:
			multiply(&strip, blocks, 3, two);
			break;
		case 4:
			multiply(&strip, blocks, 4, two);
			break;
		case 5:
			multiply(&strip, blocks, 5, two);
			break;
		case 6:
			multiply(&strip, blocks, 6, two);
			break;
		case 7:
			multiply(&strip, blocks, 7, two);
			break;
		default:
			multiply(&strip, blocks, 8, two);
			break;
		}
		strip.window += pixels * strip.window_step;
		strip.output += pixels * strip.output_step;
		if (strip.added)
			strip.added += pixels;
	}
}

static OVT_SIMD_NOINLINE void row_of_two(const struct ovt_conv_row *row,
					 const struct ovt_conv_block *blocks)
{
	multiply_row(row, blocks, true);
}

static OVT_SIMD_NOINLINE void row_of_one(const struct ovt_conv_row *row,
					 const struct ovt_conv_block *block)
{
	multiply_row(row, block, false);
}

void ovt_conv_vnni512(const struct ovt_conv_row *row, const struct ovt_conv_block *blocks,
		      u32 count)
{
	if (count > OVT_SIMD_OUTPUTS)
		row_of_two(row, blocks);
	else
		row_of_one(row, blocks);
}

/* Loads a step's weights of both blocks, or of one with zeros; a last step may have one tile. */
static __always_inline ovt_s32x16
load_tiles(const s8 *weights, u64 block_step, const u32 blocks, const bool odd)
{
	const s8 *second_weights = weights + block_step;
	const ovt_s32x4 zeros = { 0 };
	ovt_s32x8 first = { 0 }, second = { 0 };

	if (odd) {
		first = (ovt_s32x8)ovt_join((ovt_s32x4)ovt_load_s8x16(weights), zeros);
		if (blocks == 2)
			second = (ovt_s32x8)ovt_join((ovt_s32x4)ovt_load_s8x16(second_weights),
						     zeros);
	} else {
		first = (ovt_s32x8)ovt_load_s8x32(weights);
		if (blocks == 2)
			second = (ovt_s32x8)ovt_load_s8x32(second_weights);
	}
	return ovt_join_512(first, second);
}

/* Makes [16 o][4 i] of two tiles [8 o][2 i] of each block, in the order of struct ovt_simd_sums. */
static __always_inline ovt_s32x16 quads_of(ovt_s32x16 tiles)
{
	const ovt_u16x32 order = { 0, 8, 1, 9, 2, 10, 3, 11, 16, 24, 17, 25, 18, 26, 19, 27,
				   4, 12, 5, 13, 6, 14, 7, 15, 20, 28, 21, 29, 22, 30, 23, 31 };

	return ovt_permute_words(tiles, order);
}

/*
 * Makes [8 o][8 i] of four tiles [8 o][2 i].  @tiles is fewer at the end of the weights: the others
 * are 0.
 */
static __always_inline ovt_s32x16 load_octets(const s8 *weights, u64 tiles)
{
	const ovt_u16x32 order = { 0, 8, 16, 24, 1, 9, 17, 25, 2, 10, 18, 26, 3, 11, 19, 27,
				   4, 12, 20, 28, 5, 13, 21, 29, 6, 14, 22, 30, 7, 15, 23, 31 };

	if (tiles >= 4)
		return ovt_permute_words(ovt_load_s32x16(weights), order);
	return ovt_permute_words((ovt_s32x16)ovt_load_some_512(weights,
							       tiles * OVERTAKE_WEIGHT_TILE),
				 order);
}

/* Adds 8 inputs of one pixel to even and odd sums of 8 outputs; with @totals, the weights, too. */
static __always_inline void
add_octets(ovt_s32x16 *sum, ovt_s32x16 *total, ovt_s32x16 weights, const u8 *inputs,
	   const bool totals)
{
	*sum = ovt_add_products_512(*sum, ovt_broadcast_u64x8(ovt_load_u64(inputs)), weights);
	if (totals)
		*total = ovt_add_products_512(*total, ovt_broadcast_s32x16(0x01010101), weights);
}

/* Returns the sums of 8 outputs of a pixel; @added was added to each of its inputs. */
static __always_inline ovt_u32x8
multiply_single(const s8 *weights, const u8 *inputs, u64 pairs, s32 added, const bool totals)
{
	ovt_s32x16 sums[CHAINS] = { { 0 } }, all[CHAINS] = { { 0 } };
	ovt_u32x16 sum = { 0 };
	u64 steps = pairs / 4;
	u32 i;

	for (; steps >= CHAINS; steps -= CHAINS) {
#pragma GCC unroll 4
		for (i = 0; i < CHAINS; i++, weights += VECTOR_BYTES, inputs += 8)
			add_octets(&sums[i], &all[i], load_octets(weights, 4), inputs, totals);
	}
	for (; steps; steps--, weights += VECTOR_BYTES, inputs += 8)
		add_octets(&sums[0], &all[0], load_octets(weights, 4), inputs, totals);
	if (pairs % 4)
		add_octets(&sums[1], &all[1], load_octets(weights, pairs % 4), inputs, totals);
#pragma GCC unroll 4
	for (i = 0; i < CHAINS; i++) {
		sum += (ovt_u32x16)sums[i];
		if (totals)
			sum -= (ovt_u32x16)all[i] * (u32)added;
	}
	return ovt_add_neighbours_512(sum);
}

static __always_inline ovt_u32x8
sums_of(const s8 *weights, const u8 *inputs, u64 pairs, s32 added)
{
	if (added)
		return multiply_single(weights, inputs, pairs, added, true);
	return multiply_single(weights, inputs, pairs, 0, false);
}

/* Reads the weights of up to two blocks of 8 outputs from one end to the other. */
OVT_SIMD_NOINLINE void
ovt_conv_single_vnni512(s8 *output, const struct ovt_conv_run *run,
			const struct ovt_conv_block *block, s32 added,
			const struct ovt_simd_scratch *scratch)
{
	const u64 pairs = (u64)run->length * run->rows * run->columns;
	ovt_u32x8 first = sums_of(block->weights, scratch->bytes, pairs, added), second = { 0 };
	struct ovt_simd_sums sums, room;
	ovt_s32x16 both;

	if (block->count > OVERTAKE_WEIGHT_BLOCK)
		second = sums_of(block->weights + block->block_step, scratch->bytes, pairs, added);
	sums = ovt_simd_in_order(first, second);
	sums.low += block->start.low;
	sums.high += block->start.high;
	both = ovt_join_512((ovt_s32x8)sums.low, (ovt_s32x8)sums.high);
	finish_block(&(struct ovt_conv_row) { .output = output, .sums = &room }, block, &both, 1);
}

/* Packs a tap of @pairs pairs of inputs, and returns the totals of the weights so far. */
static __always_inline ovt_s32x16
pack_tap(const s8 *from, u64 block_step, u32 pairs, s8 *to, ovt_s32x16 totals, const u32 blocks)
{
	const ovt_s32x16 ones = ovt_broadcast_s32x16(0x01010101);
	u32 steps;

	for (steps = pairs / 2; steps; steps--, from += TILES_BYTES, to += VECTOR_BYTES) {
		ovt_s32x16 weights = quads_of(load_tiles(from, block_step, blocks, false));

		totals = ovt_add_products_512(totals, ones, weights);
		ovt_store_s32x16(to, weights);
	}
	if (pairs % 2) {
		ovt_s32x16 weights = quads_of(load_tiles(from, block_step, blocks, true));

		totals = ovt_add_products_512(totals, ones, weights);
		ovt_store_s32x16(to, weights);
	}
	return totals;
}

/* Packs one block, of @blocks * 8 outputs. */
static __always_inline void
pack_block(const struct ovt_conv_plan *plan, const s8 *weights, u32 (*totals)[OVT_SIMD_OUTPUTS],
	   s8 *to, u32 *to_at, const u32 blocks)
{
	const struct ovt_conv_run *run = &plan->bytes_run;
	const u32 pairs = plan->inputs.pixel / OVERTAKE_WEIGHT_INPUTS, quads = (pairs + 1) / 2;
	const u32 taps_of_run = run->length / quads;
	ovt_s32x16 total = { 0 };
	u32 y, x, tap, i;

	ovt_store_s32x16(totals[0], total);
	for (y = 0; y < run->rows; y++) {
		for (x = 0; x < run->columns; x++) {
			const s8 *from = weights + y * run->weights_row + x * run->weights_column;
			u32 at = y * run->row_step + x * run->column_step;

			for (tap = 0; tap < taps_of_run; tap++) {
				total = pack_tap(from, plan->block_step, pairs, to, total, blocks);
				from += pairs * OVERTAKE_WEIGHT_TILE;
				to += quads * VECTOR_BYTES;
				for (i = 0; i < quads; i++, at += 4)
					*to_at++ = at;
			}
		}
		if (y < OVT_SIMD_TAP_ROWS)
			ovt_store_s32x16(totals[y + 1], total);
	}
	ovt_store_s32x16(totals[OVT_SIMD_TAP_ROWS], total);
}

/* Both blocks have the same steps: their places are written twice. */
OVT_SIMD_NOINLINE void
ovt_conv_pack_vnni512(const struct ovt_conv_plan *plan, const s8 *weights, u32 count, u32 index,
		      struct ovt_simd_scratch *scratch)
{
	const struct ovt_conv_run *run = &plan->bytes_run;
	u32 (*totals)[OVT_SIMD_OUTPUTS] = scratch->totals[index];
	s8 *to = index ? (s8 *)scratch->inputs : scratch->packed;

	scratch->steps = run->rows * run->columns * run->length;
	if (count > OVERTAKE_WEIGHT_BLOCK)
		pack_block(plan, weights, totals, to, scratch->step_at, 2);
	else
		pack_block(plan, weights, totals, to, scratch->step_at, 1);
}
