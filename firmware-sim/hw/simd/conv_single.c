// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * CONV of one pixel: fully connected layers.
 *
 * Each weight is used once, so what counts is how soon it is a factor.  Interleaving bytes with
 * zeros makes words of 256 times a weight; 128 products of two with inputs of -255..255 add up
 * to less than 2^31, then 256 is shifted out.  Two tiles [8 o][2 i] are read at once: their words
 * are of outputs 0..3 and of outputs 4..7, the first tile's in the low half, the second's in the
 * high.  So pairs of inputs are laid out in advance: four times one, four times the next.
 */
#include "hw/operator_units.h"
#include "hw/simd/conv_finish.h"

/* Two tiles, and a vector of inputs. */
#define STEP_BYTES	(2u * OVERTAKE_WEIGHT_TILE)
/* What the CPU does not foresee: a block's weights are a page or two. */
#define AHEAD_BYTES	1024u
/* Steps whose sums stay below 2^31. */
#define CHUNK_STEPS	128u

static u64 pairs_of(const struct ovt_conv_run *run)
{
	return (u64)run->length * run->rows * run->columns;
}

bool ovt_conv_single_fits(const struct ovt_conv_run *run)
{
	return (pairs_of(run) + 1) / 2 * STEP_BYTES <= OVT_SIMD_PACKED;
}

void ovt_conv_single_spread(const struct ovt_conv_run *run, struct ovt_simd_scratch *scratch)
{
	s8 *to = scratch->packed;
	u32 y, x, pair;

	for (y = 0; y < run->rows; y++) {
		for (x = 0; x < run->columns; x++) {
			const s16 *from = scratch->inputs + (u64)y * run->row_step +
					  (u64)x * run->column_step;

			for (pair = 0; pair < run->length; pair++, to += STEP_BYTES / 2) {
				s32 both = ovt_load_s32(from + 2 * pair);

				ovt_store_s32x4(to, (ovt_s32x4) { both, both, both, both });
			}
		}
	}
	/* The partner of an odd one.  An even number may fill the memory to its end. */
	if (pairs_of(run) % 2)
		ovt_store_s32x4(to, (ovt_s32x4) { 0 });
}

/* Outputs 0..3 and 4..7, each of even and of odd pairs. */
struct halves {
	ovt_u32x8 first;
	ovt_u32x8 second;
};

static __always_inline void add_tiles(struct halves *sums, ovt_c8x32 weights, ovt_s16x16 inputs)
{
	const ovt_c8x32 zeros = { 0 };

	sums->first += ovt_multiply_pairs((ovt_s16x16)__builtin_ia32_punpcklbw256(zeros, weights),
					  inputs);
	sums->second += ovt_multiply_pairs((ovt_s16x16)__builtin_ia32_punpckhbw256(zeros, weights),
					   inputs);
}

static __always_inline void add_scaled(struct halves *totals, const struct halves *sums)
{
	totals->first += (ovt_u32x8)((ovt_s32x8)sums->first >> 8);
	totals->second += (ovt_u32x8)((ovt_s32x8)sums->second >> 8);
}

/* Low halves of both and high halves of both, added. */
static __always_inline ovt_u32x8 add_halves(ovt_u32x8 a, ovt_u32x8 b)
{
	struct ovt_simd_sums ordered = ovt_simd_in_order(a, b);

	return ordered.low + ordered.high;
}

/* The last tile of an odd number. */
static __always_inline ovt_c8x32 load_tile(const s8 *from)
{
	return ovt_join((ovt_s32x4)ovt_load_s8x16(from), (ovt_s32x4) { 0 });
}

static __always_inline void
multiply(const struct ovt_conv_block *block, const s8 *inputs, u64 pairs, struct halves *totals,
	 const u32 vectors)
{
	const s8 *weights = block->weights;
	u64 steps = pairs / 2, chunk, i;

	while (steps) {
		struct halves sums[2] = { { { 0 } } };

		chunk = steps < CHUNK_STEPS ? steps : CHUNK_STEPS;
		for (i = 0; i < chunk; i++, weights += STEP_BYTES, inputs += STEP_BYTES) {
			ovt_s16x16 words = ovt_load_s16x16(inputs);
			const s8 *second = weights + block->block_bytes;

			__builtin_prefetch(weights + AHEAD_BYTES);
			add_tiles(&sums[0], (ovt_c8x32)ovt_load_s8x32(weights), words);
			if (vectors == 2) {
				__builtin_prefetch(second + AHEAD_BYTES);
				add_tiles(&sums[1], (ovt_c8x32)ovt_load_s8x32(second), words);
			}
		}
		add_scaled(&totals[0], &sums[0]);
		add_scaled(&totals[1], &sums[1]);
		steps -= chunk;
	}
	if (pairs % 2) {
		struct halves sums[2] = { { { 0 } } };
		ovt_s16x16 words = ovt_load_s16x16(inputs);

		add_tiles(&sums[0], load_tile(weights), words);
		if (vectors == 2)
			add_tiles(&sums[1], load_tile(weights + block->block_bytes), words);
		add_scaled(&totals[0], &sums[0]);
		add_scaled(&totals[1], &sums[1]);
	}
}

OVT_SIMD_NOINLINE void
ovt_conv_single(const struct ovt_conv_strip *strip, const struct ovt_conv_run *run,
		const struct ovt_conv_block *block, const struct ovt_simd_scratch *scratch)
{
	struct halves totals[2] = { { { 0 } } };
	struct ovt_simd_sums sums = block->channels.bias;

	if (block->count <= OVERTAKE_WEIGHT_BLOCK) {
		multiply(block, scratch->packed, pairs_of(run), totals, 1);
		sums.low += add_halves(totals[0].first, totals[0].second);
		ovt_conv_finish_8(strip, block, &sums, 1);
		return;
	}
	multiply(block, scratch->packed, pairs_of(run), totals, 2);
	sums.low += add_halves(totals[0].first, totals[1].first);
	sums.high += add_halves(totals[0].second, totals[1].second);
	ovt_conv_finish_16(strip, block, &sums, 1);
}
