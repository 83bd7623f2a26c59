// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The weights of CONV, copied for many pixels (hw/simd/conv_packed.c).
 *
 * As words they are only widened: [pair][8 o][2 i] for 8 outputs, or both blocks of 16 in turns.
 *
 * As bytes they are checked, since not all weights can be multiplied as bytes.  Four inputs of each
 * output follow each other, a quad: [quad][8 o][4 i] for 8 outputs.  For 16 outputs, a quad's first
 * vector is for outputs 0..3 and 8..11, its second for 4..7 and 12..15: the order of struct
 * ovt_simd_sums.
 *
 * In 16 bits, weights w0 and w1 of two inputs of 0..255 add up without saturation if their positive
 * parts add up to at most 128 and their negative parts to at least -128.  A vector with other
 * weights is split into two vectors that fulfil this: w limited to -64..64, and the rest of w.  If
 * too many vectors are split, words are faster.
 *
 * The client may change its weights at any time: the copy that was checked is multiplied.
 */
#include "hw/operator_units.h"
#include "hw/simd/conv.h"

#define PAIR_MAX	128
#define LIMIT		64
#define INPUTS_AT_ONCE	4u
/* Weights of 8 outputs and 4 inputs. */
#define QUAD_BYTES	(OVERTAKE_WEIGHT_BLOCK * INPUTS_AT_ONCE)
/* Weights of 8 outputs and 2 inputs, as words. */
#define PAIR_BYTES	(OVERTAKE_WEIGHT_TILE * 2u)
/* Quads whose weights add up in 16 bits. */
#define CHUNK_QUADS	64u

/* From so many pixels on, 3 of 10 vectors may be split, else 1 of 10: splitting takes time. */
#define MANY_PIXELS	128u
/* Most bytes of packed words: weights that would not stay in the cache are widened each time. */
#define WORDS_MAX	(20u * 1024u)

/* Weights of @vectors * 8 outputs that are being packed as bytes. */
struct packing {
	struct ovt_simd_scratch *scratch;
	u32 *totals;	/* totals of the rows of taps so far */
	u32 *extras;	/* extras of the rows of taps so far */
	u64 block_step;
	u32 split_max;	/* most vectors of a kind that are split */
	u32 vectors;
	bool exact;	/* no weights need to be split */
};

/* Some quads of one tap: source and copy. */
struct chunk {
	const s8 *from;
	s8 *to;
	u32 *to_at;
	u32 quads;
	u32 pairs;	/* pairs of inputs: the last quad may have only one */
	u32 at;		/* place of its first input, in a window of bytes */
};

static u64 steps_of(const struct ovt_conv_run *run)
{
	return (u64)run->length * run->rows * run->columns;
}

bool ovt_conv_bytes_fit(const struct ovt_conv_plan *plan)
{
	/* With fewer channels most products would be those of alignment. */
	return plan->group_inputs >= 3 &&
	       steps_of(&plan->bytes_run) * QUAD_BYTES * 2 <= OVT_SIMD_PACKED;
}

bool ovt_conv_words_fit(const struct ovt_conv_plan *plan)
{
	return steps_of(&plan->words_run) * PAIR_BYTES * 2 <= WORDS_MAX;
}

static __always_inline ovt_c8x32 largest(ovt_c8x32 a, ovt_c8x32 b)
{
	return __builtin_ia32_pmaxsb256(a, b);
}

static __always_inline ovt_c8x32 least(ovt_c8x32 a, ovt_c8x32 b)
{
	return __builtin_ia32_pminsb256(a, b);
}

/* Returns the sums of neighbours. */
static __always_inline ovt_i16x16 add_pairs(ovt_c8x32 bytes)
{
	return __builtin_ia32_pmaddubsw256((ovt_c8x32)ovt_broadcast_s8(1), bytes);
}

static __always_inline ovt_u32x8 add_words(ovt_i16x16 words)
{
	return ovt_multiply_pairs((ovt_s16x16)words, ovt_broadcast_s16(1));
}

/* Turns two tiles [8 o][2 i] of 8 outputs, or of two blocks, into a quad: one vector or two. */
static __always_inline void load_quad(const s8 *from, u64 block_step, bool two_pairs,
				      const u32 vectors, ovt_c8x32 *quad)
{
	ovt_s8x16 a = ovt_load_s8x16(from), b = { 0 }, c = { 0 }, d = { 0 };
	ovt_i16x16 first, second;
	ovt_i16x8 low, high;

	if (two_pairs)
		b = ovt_load_s8x16(from + OVERTAKE_WEIGHT_TILE);
	if (vectors == 1) {
		low = __builtin_ia32_punpcklwd128((ovt_i16x8)a, (ovt_i16x8)b);
		high = __builtin_ia32_punpckhwd128((ovt_i16x8)a, (ovt_i16x8)b);
		quad[0] = ovt_join((ovt_s32x4)low, (ovt_s32x4)high);
		return;
	}
	c = ovt_load_s8x16(from + block_step);
	if (two_pairs)
		d = ovt_load_s8x16(from + block_step + OVERTAKE_WEIGHT_TILE);
	first = (ovt_i16x16)ovt_join((ovt_s32x4)a, (ovt_s32x4)c);
	second = (ovt_i16x16)ovt_join((ovt_s32x4)b, (ovt_s32x4)d);
	quad[0] = (ovt_c8x32)__builtin_ia32_punpcklwd256(first, second);
	quad[1] = (ovt_c8x32)__builtin_ia32_punpckhwd256(first, second);
}

static __always_inline bool any(ovt_i16x16 words)
{
	return !__builtin_ia32_ptestz256((ovt_i64x4)words, (ovt_i64x4)words);
}

/* Returns the pairs of a vector that could saturate. */
static __always_inline ovt_i16x16 beyond(ovt_c8x32 weights)
{
	const ovt_c8x32 zeros = { 0 };
	ovt_i16x16 positive = add_pairs(largest(weights, zeros));
	ovt_i16x16 negative = add_pairs(least(weights, zeros));

	return (positive > (ovt_i16x16)ovt_broadcast_s16(PAIR_MAX)) |
	       (negative < (ovt_i16x16)ovt_broadcast_s16(-PAIR_MAX));
}

/* Splits vector @which of a step; returns false if there are too many. */
static bool split_vector(const struct packing *packing, s8 *at, u32 which, u32 inputs_at)
{
	const ovt_c8x32 most = (ovt_c8x32)ovt_broadcast_s8(LIMIT);
	const ovt_c8x32 fewest = (ovt_c8x32)ovt_broadcast_s8(-LIMIT);
	struct ovt_simd_scratch *scratch = packing->scratch;
	ovt_c8x32 weights = (ovt_c8x32)ovt_load_s8x32(at);
	ovt_c8x32 limited = largest(least(weights, most), fewest);
	u32 extra = packing->extras[which];

	if (extra >= packing->split_max)
		return false;
	ovt_store_s8x32(at, (ovt_s8x32)limited);
	ovt_store_s8x32(&scratch->extra[which][extra * QUAD_BYTES],
			(ovt_s8x32)weights - (ovt_s8x32)limited);
	scratch->extra_at[which][extra] = inputs_at;
	packing->extras[which]++;
	return true;
}

/* Splits the vectors of a chunk that need it; returns false if there are too many. */
static __always_inline bool
split(const struct packing *packing, const struct chunk *chunk, const u32 vectors)
{
	s8 *at = chunk->to;
	u32 quad;

	for (quad = 0; quad < chunk->quads; quad++, at += vectors * QUAD_BYTES) {
		u32 inputs_at = chunk->at + quad * INPUTS_AT_ONCE;
		ovt_i16x16 first = beyond((ovt_c8x32)ovt_load_s8x32(at));
		ovt_i16x16 second = { 0 };

		if (vectors == 2)
			second = beyond((ovt_c8x32)ovt_load_s8x32(at + QUAD_BYTES));
		if (!any(first | second))
			continue;
		if (any(first) && !split_vector(packing, at, 0, inputs_at))
			return false;
		if (any(second) && !split_vector(packing, at + QUAD_BYTES, 1, inputs_at))
			return false;
	}
	return true;
}

/* Copies a chunk; returns true if it has weights that may have to be split. */
static __always_inline bool copy(const struct packing *packing, const struct chunk *chunk,
				 const u32 vectors)
{
	ovt_c8x32 most = { 0 }, fewest = { 0 }, quad[2];
	ovt_i16x16 sums[2] = { { 0 } };
	const s8 *from = chunk->from;
	s8 *to = chunk->to;
	ovt_c8x32 wide;
	u32 i, v;

	for (i = 0; i < chunk->quads; i++, from += 2 * OVERTAKE_WEIGHT_TILE) {
		chunk->to_at[i] = chunk->at + i * INPUTS_AT_ONCE;
		load_quad(from, packing->block_step, 2 * i + 1 < chunk->pairs, vectors, quad);
#pragma GCC unroll 2
		for (v = 0; v < vectors; v++, to += QUAD_BYTES) {
			ovt_store_s8x32(to, (ovt_s8x32)quad[v]);
			most = largest(most, quad[v]);
			fewest = least(fewest, quad[v]);
			sums[v] = (ovt_i16x16)((ovt_s16x16)sums[v] +
					       (ovt_s16x16)add_pairs(quad[v]));
		}
	}
	for (v = 0; v < vectors; v++) {
		u32 *totals = packing->totals + v * OVERTAKE_WEIGHT_BLOCK;
		ovt_u32x8 before = (ovt_u32x8)ovt_load_s32x8(totals);

		ovt_store_s32x8(totals, (ovt_s32x8)(before + add_words(sums[v])));
	}
	wide = (ovt_c8x32)(((ovt_s8x32)most > LIMIT) | ((ovt_s8x32)fewest < -LIMIT));
	return !packing->exact && __builtin_ia32_pmovmskb256(wide);
}

static OVT_SIMD_NOINLINE bool pack_chunk(const struct packing *packing, const struct chunk *chunk)
{
	if (packing->vectors == 2)
		return !copy(packing, chunk, 2) || split(packing, chunk, 2);
	return !copy(packing, chunk, 1) || split(packing, chunk, 1);
}

/* Packs one tap, and moves @next on. */
static bool pack_tap(const struct packing *packing, struct chunk *next, u32 quads, u32 pairs)
{
	u32 stride = packing->vectors * QUAD_BYTES;
	u32 done;

	for (done = 0; done < quads; done += next->quads) {
		next->quads = quads - done < CHUNK_QUADS ? quads - done : CHUNK_QUADS;
		next->pairs = pairs - 2 * done;
		if (!pack_chunk(packing, next))
			return false;
		next->from += (u64)next->quads * 2 * OVERTAKE_WEIGHT_TILE;
		next->to += next->quads * stride;
		next->to_at += next->quads;
		next->at += next->quads * INPUTS_AT_ONCE;
	}
	/* The last quad had no second pair. */
	if (pairs % 2)
		next->from -= OVERTAKE_WEIGHT_TILE;
	return true;
}

/* Adds row @y of taps to the rows before. */
static void next_row(struct packing *packing, u32 y)
{
	struct ovt_simd_scratch *scratch = packing->scratch;

	if (y < OVT_SIMD_TAP_ROWS) {
		packing->totals = scratch->totals[0][y + 1];
		packing->extras = scratch->extras[y + 1];
		memcpy(packing->totals, scratch->totals[0][y], sizeof(scratch->totals[0][y]));
		memcpy(packing->extras, scratch->extras[y], sizeof(scratch->extras[y]));
	}
}

/* Packs the weights from @weights on; returns false if too many would have to be split. */
static bool pack_bytes(const struct ovt_conv_plan *plan, struct packing *packing,
		       const s8 *weights)
{
	const struct ovt_conv_run *run = &plan->bytes_run;
	struct ovt_simd_scratch *scratch = packing->scratch;
	u32 quads = plan->bytes.pixel / INPUTS_AT_ONCE;
	u32 taps_of_run = run->length / quads;
	struct chunk chunk = { .to = scratch->packed, .to_at = scratch->step_at };
	u32 y, x, tap;

	scratch->steps = (u32)steps_of(run);
	memset(scratch->totals[0][0], 0, sizeof(scratch->totals[0][0]));
	memset(scratch->extras[0], 0, sizeof(scratch->extras[0]));
	for (y = 0; y < run->rows; y++) {
		next_row(packing, y);
		for (x = 0; x < run->columns; x++) {
			chunk.at = y * run->row_step + x * run->column_step;
			chunk.from = weights + y * run->weights_row + x * run->weights_column;
			for (tap = 0; tap < taps_of_run; tap++) {
				if (!pack_tap(packing, &chunk, quads,
					      plan->inputs.pixel / OVERTAKE_WEIGHT_INPUTS))
					return false;
			}
		}
	}
	return true;
}

OVT_SIMD_NOINLINE bool
ovt_conv_pack_bytes(const struct ovt_conv_plan *plan, const s8 *weights, u32 count, u32 pixels,
		    struct ovt_simd_scratch *scratch)
{
	struct packing packing = {
		.scratch = scratch,
		.block_step = plan->block_step,
		.split_max = (u32)steps_of(&plan->bytes_run) * (pixels < MANY_PIXELS ? 1 : 3) / 10,
		.vectors = count > OVERTAKE_WEIGHT_BLOCK ? 2 : 1,
	};

	return pack_bytes(plan, &packing, weights);
}

OVT_SIMD_NOINLINE void
ovt_conv_pack_vnni(const struct ovt_conv_plan *plan, const s8 *weights, u32 count,
		   struct ovt_simd_scratch *scratch)
{
	struct packing packing = {
		.scratch = scratch,
		.block_step = plan->block_step,
		.vectors = count > OVERTAKE_WEIGHT_BLOCK ? 2 : 1,
		.exact = true,
	};

	pack_bytes(plan, &packing, weights);
}

OVT_SIMD_NOINLINE void
ovt_conv_pack_words(const struct ovt_conv_plan *plan, const s8 *weights, u32 count,
		    struct ovt_simd_scratch *scratch)
{
	const struct ovt_conv_run *run = &plan->words_run;
	const bool two = count > OVERTAKE_WEIGHT_BLOCK;
	u32 *at = scratch->step_at;
	s8 *to = scratch->packed;
	u32 y, x, pair;

	for (y = 0; y < run->rows; y++) {
		for (x = 0; x < run->columns; x++) {
			u32 from = (y * run->row_step + x * run->column_step) * sizeof(s16);
			const s8 *tile = weights + y * run->weights_row +
					 x * run->weights_column;

			for (pair = 0; pair < run->length; pair++) {
				ovt_store_s16x16(to, ovt_widen_s8(ovt_load_s8x16(tile)));
				to += PAIR_BYTES;
				if (two) {
					const s8 *second = tile + plan->block_step;

					ovt_store_s16x16(to, ovt_widen_s8(ovt_load_s8x16(second)));
					to += PAIR_BYTES;
				}
				tile += OVERTAKE_WEIGHT_TILE;
				*at++ = from + pair * sizeof(s32);
			}
		}
	}
	scratch->steps = (u32)steps_of(run);
}
