// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * CONV of one pixel: fully connected layers.
 *
 * Each weight is used once, so the time from its load to its multiplication counts.  Two tiles [8
 * o][2 i] are read at once, 32 bytes, and multiplied in one of two ways.
 *
 * They are multiplied as bytes if no input is negative after its zero point is subtracted, as
 * behind a ReLU, and if there is room for the inputs.  Inputs are split into two digits of 4 bits.
 * Two products of a digit and a weight are at most 3840, so 8 steps are added up in 16 bits,
 * whatever the weights.  Then one multiplication by 1 and 16 makes 32 bits of both digits' sums.
 *
 * Otherwise they are multiplied as words.  Interleaving bytes with zeros makes words of 256 times a
 * weight; 128 sums of two products with inputs of -255..255 add up to less than 2^31, and then 256
 * is shifted out.
 *
 * Either way there are sums of outputs 0..3 and of outputs 4..7: those of the first tile in the low
 * half, those of the second in the high half.  So pairs of inputs are laid out in advance, for each
 * step like its weights: repeated for each output that they meet.
 */
#include "hw/operator_units.h"
#include "hw/simd/conv_finish.h"

/* Two tiles, and a vector of inputs. */
#define STEP_BYTES	(2u * OVERTAKE_WEIGHT_TILE)
/* Distance of prefetches, which the CPU does not make: a block's weights are a page or two. */
#define AHEAD_BYTES	1024u
/* Digits of a step: the low ones, then the high ones. */
#define DIGITS_BYTES	(2u * STEP_BYTES)
#define DIGIT_BITS	4
/* Greatest numbers of steps whose sums stay below 2^31; for digits, below 2^15. */
#define WORDS_STEPS	128u
#define DIGITS_STEPS	8u

static u64 pairs_of(const struct ovt_conv_run *run)
{
	return (u64)run->length * run->rows * run->columns;
}

bool ovt_conv_single_fits(const struct ovt_conv_run *run)
{
	return (pairs_of(run) + 1) / 2 * STEP_BYTES <= OVT_SIMD_PACKED;
}

/* Calls @visit for each pair of inputs of the window, in the order of the weights. */
static __always_inline void
for_pairs(const struct ovt_conv_run *run, const struct ovt_simd_scratch *scratch,
	  void (*visit)(s8 *to, u64 index, s32 pair), s8 *to)
{
	u64 index = 0;
	u32 y, x, i;

	for (y = 0; y < run->rows; y++) {
		for (x = 0; x < run->columns; x++) {
			const s16 *from = scratch->inputs + (u64)y * run->row_step +
					  (u64)x * run->column_step;

			for (i = 0; i < run->length; i++)
				visit(to, index++, ovt_load_s32(from + 2 * i));
		}
	}
}

static __always_inline void put_words(s8 *to, u64 index, s32 pair)
{
	ovt_store_s32x4(to + index * (STEP_BYTES / 2), (ovt_s32x4) { pair, pair, pair, pair });
}

/* Returns the lowest digit of both words, as bytes, 8 times. */
static __always_inline ovt_s32x4 repeat_digits(u32 pair)
{
	const u32 digits = (pair & 0xf) | (pair >> 8 & 0xf00);
	const s32 twice = (s32)(digits | digits << 16);

	return (ovt_s32x4) { twice, twice, twice, twice };
}

static __always_inline void put_digits(s8 *to, u64 index, s32 pair)
{
	s8 *at = to + index / 2 * DIGITS_BYTES + index % 2 * (STEP_BYTES / 2);

	ovt_store_s32x4(at, repeat_digits((u32)pair));
	ovt_store_s32x4(at + STEP_BYTES, repeat_digits((u32)pair >> DIGIT_BITS));
}

static __always_inline void add_bits(s8 *to, u64 index, s32 pair)
{
	(void)index;
	*(s32 *)to |= pair;
}

/* Whether all inputs of the window are 0..255, and there is room for their digits. */
static bool are_digits(const struct ovt_conv_run *run, const struct ovt_simd_scratch *scratch)
{
	s32 bits = 0;

	if ((pairs_of(run) + 1) / 2 * DIGITS_BYTES > OVT_SIMD_PACKED)
		return false;
	for_pairs(run, scratch, add_bits, (s8 *)&bits);
	return !((u32)bits & 0xff00ff00);
}

bool ovt_conv_single_spread(const struct ovt_conv_run *run, struct ovt_simd_scratch *scratch)
{
	const u64 pairs = pairs_of(run);
	const bool digits = are_digits(run, scratch);

	/* The partner of an odd pair is 0.  Even pairs may fill the memory to its end. */
	if (digits) {
		for_pairs(run, scratch, put_digits, scratch->packed);
		if (pairs % 2)
			put_digits(scratch->packed, pairs, 0);
	} else {
		for_pairs(run, scratch, put_words, scratch->packed);
		if (pairs % 2)
			put_words(scratch->packed, pairs, 0);
	}
	return digits;
}

static __always_inline void put_pair(s8 *to, u64 index, s32 pair)
{
	ovt_store_s32(to + index * sizeof(s32), pair);
}

/* Words are at least -@added and less than 256 - @added. */
void ovt_conv_single_bytes(const struct ovt_conv_run *run, s32 added,
			   struct ovt_simd_scratch *scratch)
{
	const ovt_s16x16 addend = ovt_broadcast_s16((s16)added);
	const u64 words = (2 * pairs_of(run) + 31) / 32 * 32;
	const s16 *from = (const s16 *)scratch->packed;
	u64 i;

	for_pairs(run, scratch, put_pair, scratch->packed);
	memset(scratch->packed + pairs_of(run) * sizeof(s32), 0, 64);
	for (i = 0; i < words; i += 32) {
		ovt_i16x16 first = (ovt_i16x16)(ovt_load_s16x16(from + i) + addend);
		ovt_i16x16 second = (ovt_i16x16)(ovt_load_s16x16(from + i + 16) + addend);
		ovt_c8x32 bytes = __builtin_ia32_packuswb256(first, second);

		bytes = (ovt_c8x32)__builtin_ia32_permdi256((ovt_i64x4)bytes, 0xd8);
		ovt_store_s8x32(scratch->bytes + i, (ovt_s8x32)bytes);
	}
}

/* Outputs 0..3 and 4..7, each of even and of odd pairs. */
struct halves {
	ovt_u32x8 first;
	ovt_u32x8 second;
};

/* Returns the low halves of both plus the high halves of both. */
static __always_inline ovt_u32x8 add_halves(ovt_u32x8 a, ovt_u32x8 b)
{
	struct ovt_simd_sums ordered = ovt_simd_in_order(a, b);

	return ordered.low + ordered.high;
}

static __always_inline ovt_c8x32 load_tiles(const s8 *from)
{
	return (ovt_c8x32)ovt_load_s8x32(from);
}

/* Loads the last tile of an odd number of tiles. */
static __always_inline ovt_c8x32 load_tile(const s8 *from)
{
	return ovt_join((ovt_s32x4)ovt_load_s8x16(from), (ovt_s32x4) { 0 });
}

static __always_inline void
add_words(struct halves *sums, ovt_c8x32 weights, ovt_s16x16 inputs)
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

static __always_inline void
multiply_words(const struct ovt_conv_block *block, const s8 *inputs, u64 pairs,
	       struct halves *totals, const u32 vectors)
{
	const s8 *weights = block->weights;
	u64 steps = pairs / 2, chunk, i;

	while (steps) {
		struct halves sums[2] = { { { 0 } } };

		chunk = steps < WORDS_STEPS ? steps : WORDS_STEPS;
		for (i = 0; i < chunk; i++, weights += STEP_BYTES, inputs += STEP_BYTES) {
			ovt_s16x16 words = ovt_load_s16x16(inputs);
			const s8 *second = weights + block->block_step;

			__builtin_prefetch(weights + AHEAD_BYTES);
			add_words(&sums[0], load_tiles(weights), words);
			if (vectors == 2) {
				__builtin_prefetch(second + AHEAD_BYTES);
				add_words(&sums[1], load_tiles(second), words);
			}
		}
		add_scaled(&totals[0], &sums[0]);
		add_scaled(&totals[1], &sums[1]);
		steps -= chunk;
	}
	if (pairs % 2) {
		struct halves sums[2] = { { { 0 } } };
		ovt_s16x16 words = ovt_load_s16x16(inputs);

		add_words(&sums[0], load_tile(weights), words);
		if (vectors == 2)
			add_words(&sums[1], load_tile(weights + block->block_step), words);
		add_scaled(&totals[0], &sums[0]);
		add_scaled(&totals[1], &sums[1]);
	}
}

/* Sums of low digits and of high ones: of outputs 0..7, of even and of odd pairs. */
struct digits {
	ovt_s16x16 low;
	ovt_s16x16 high;
};

static __always_inline void
add_digits(struct digits *sums, ovt_c8x32 weights, ovt_c8x32 low, ovt_c8x32 high)
{
	sums->low += (ovt_s16x16)__builtin_ia32_pmaddubsw256(low, weights);
	sums->high += (ovt_s16x16)__builtin_ia32_pmaddubsw256(high, weights);
	ovt_simd_settle(sums->low);
	ovt_simd_settle(sums->high);
}

static __always_inline void add_widened(struct halves *totals, const struct digits *sums)
{
	const ovt_s16x16 factors = (ovt_s16x16)ovt_broadcast_s32(1 | 1 << (16 + DIGIT_BITS));
	const ovt_i16x16 low = (ovt_i16x16)sums->low, high = (ovt_i16x16)sums->high;

	totals->first += ovt_multiply_pairs((ovt_s16x16)__builtin_ia32_punpcklwd256(low, high),
					    factors);
	totals->second += ovt_multiply_pairs((ovt_s16x16)__builtin_ia32_punpckhwd256(low, high),
					     factors);
}

/* Adds @steps, at most DIGITS_STEPS, of two tiles each, or of one if @odd. */
static __always_inline void
add_steps(struct halves *totals, const s8 *weights, u64 block_step, const s8 *inputs,
	  const u32 steps, const bool odd, const u32 vectors)
{
	struct digits sums[2] = { { { 0 } } };
	u32 i, v;

#pragma GCC unroll 8
	for (i = 0; i < steps; i++, weights += STEP_BYTES, inputs += DIGITS_BYTES) {
		ovt_c8x32 low = (ovt_c8x32)ovt_load_s8x32(inputs);
		ovt_c8x32 high = (ovt_c8x32)ovt_load_s8x32(inputs + STEP_BYTES);

		ovt_simd_settle(low);
		ovt_simd_settle(high);
#pragma GCC unroll 2
		for (v = 0; v < vectors; v++) {
			const s8 *at = weights + v * block_step;
			ovt_c8x32 tiles = odd ? load_tile(at) : load_tiles(at);

			ovt_simd_settle(tiles);
			/* A line of the cache is two steps. */
			if (i % 2 == 0 && !odd)
				__builtin_prefetch(at + AHEAD_BYTES);
			add_digits(&sums[v], tiles, low, high);
		}
	}
	for (v = 0; v < vectors; v++)
		add_widened(&totals[v], &sums[v]);
}

static __always_inline void
multiply_digits(const struct ovt_conv_block *block, const s8 *inputs, u64 pairs,
		struct halves *totals, const u32 vectors)
{
	const s8 *weights = block->weights;
	u64 steps = pairs / 2;

	for (; steps >= DIGITS_STEPS; steps -= DIGITS_STEPS) {
		add_steps(totals, weights, block->block_step, inputs, DIGITS_STEPS, false,
			  vectors);
		weights += DIGITS_STEPS * STEP_BYTES;
		inputs += DIGITS_STEPS * DIGITS_BYTES;
	}
#pragma GCC unroll 1
	for (; steps; steps--) {
		add_steps(totals, weights, block->block_step, inputs, 1, false, vectors);
		weights += STEP_BYTES;
		inputs += DIGITS_BYTES;
	}
	if (pairs % 2)
		add_steps(totals, weights, block->block_step, inputs, 1, true, vectors);
}

static __always_inline void
multiply(const struct ovt_conv_strip *strip, const struct ovt_conv_run *run,
	 const struct ovt_conv_block *block, const s8 *inputs, const bool digits)
{
	void (*const add)(const struct ovt_conv_block *block, const s8 *inputs, u64 pairs,
			  struct halves *totals, u32 vectors) =
		digits ? multiply_digits : multiply_words;
	struct halves totals[2] = { { { 0 } } };
	struct ovt_simd_sums sums = block->channels.bias;

	if (block->count <= OVERTAKE_WEIGHT_BLOCK) {
		add(block, inputs, pairs_of(run), totals, 1);
		sums.low += add_halves(totals[0].first, totals[0].second);
		ovt_conv_finish_8(strip, block, &sums, 1);
		return;
	}
	add(block, inputs, pairs_of(run), totals, 2);
	sums.low += add_halves(totals[0].first, totals[1].first);
	sums.high += add_halves(totals[0].second, totals[1].second);
	ovt_conv_finish_16(strip, block, &sums, 1);
}

OVT_SIMD_NOINLINE void
ovt_conv_single_words(const struct ovt_conv_strip *strip, const struct ovt_conv_run *run,
		      const struct ovt_conv_block *block, const struct ovt_simd_scratch *scratch)
{
	multiply(strip, run, block, scratch->packed, false);
}

OVT_SIMD_NOINLINE void
ovt_conv_single_digits(const struct ovt_conv_strip *strip, const struct ovt_conv_run *run,
		       const struct ovt_conv_block *block, const struct ovt_simd_scratch *scratch)
{
	multiply(strip, run, block, scratch->packed, true);
}
