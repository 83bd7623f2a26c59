// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * CONV of weights that are small enough to be multiplied as bytes.
 *
 * AVX2 multiplies 32 unsigned bytes by 32 signed ones and adds up neighbours, in 16 bits and
 * saturating.  Inputs have 128 added, at most 255; so two weights whose magnitudes add up to
 * 128 at most make it exact.  Weights of 7 bits are such, those of 8 bits need not be.  The sum of
 * the weights times what was added to the inputs (128 and their zero point) is subtracted.
 *
 * The client may change its weights at any time: what is multiplied is the copy that was checked.
 * It is [run][4 inputs][8 o][4 i] for 8 outputs, or both blocks of 16 in turns.
 */
#include "hw/operator_units.h"
#include "hw/simd/conv.h"

#define PAIR_MAX	128
#define INPUTS_AT_ONCE	4u
/* Weights of 8 outputs and 4 inputs. */
#define QUAD_BYTES	(OVERTAKE_WEIGHT_BLOCK * INPUTS_AT_ONCE)

static u32 vectors_of(u32 count)
{
	return count > OVERTAKE_WEIGHT_BLOCK ? 2 : 1;
}

bool ovt_conv_packs(const struct ovt_conv_plan *plan)
{
	const struct ovt_conv_run *run = &plan->bytes_run;
	u64 quads = (u64)run->length * run->rows * run->columns;

	/* With fewer channels most of what is multiplied would be alignment. */
	return plan->group_inputs >= 3 && quads * QUAD_BYTES * 2 <= OVT_SIMD_PACKED;
}

/* Checks and sums of the weights of 8 outputs. */
struct check {
	ovt_u32x8 totals;
	ovt_i16x16 greatest;
};

/* One or two tiles [8 o][2 i] to [8 o][4 i]. */
static __always_inline void pack_quad(s8 *to, const s8 *from, bool two, struct check *check)
{
	const ovt_c8x32 ones = (ovt_c8x32)ovt_broadcast_s16(0x0101);
	ovt_i16x8 first = (ovt_i16x8)ovt_load_s8x16(from);
	ovt_i16x8 second = { 0 };
	ovt_c8x32 quad;
	ovt_i16x16 magnitudes;

	if (two)
		second = (ovt_i16x8)ovt_load_s8x16(from + OVERTAKE_WEIGHT_TILE);
	quad = ovt_join((ovt_s32x4)__builtin_ia32_punpcklwd128(first, second),
			(ovt_s32x4)__builtin_ia32_punpckhwd128(first, second));
	ovt_store_s8x32(to, (ovt_s8x32)quad);
	magnitudes = __builtin_ia32_pmaddubsw256(__builtin_ia32_pabsb256(quad), ones);
	check->greatest = __builtin_ia32_pmaxsw256(check->greatest, magnitudes);
	check->totals += ovt_multiply_pairs((ovt_s16x16)__builtin_ia32_pmaddubsw256(ones, quad),
					    ovt_broadcast_s16(1));
}

/* The weights of 8 outputs, tap by tap, every @stride bytes of @to. */
static void pack_block(const struct ovt_conv_plan *plan, const s8 *from, s8 *to, u32 stride,
		       struct check *check)
{
	const struct ovt_conv_run *run = &plan->bytes_run;
	u32 pairs = plan->inputs.pixel / OVERTAKE_WEIGHT_INPUTS;
	u32 quads = plan->bytes.pixel / INPUTS_AT_ONCE;
	u32 taps = run->length / quads * run->rows * run->columns;
	u32 tap, quad;

	for (tap = 0; tap < taps; tap++, from += (u64)pairs * OVERTAKE_WEIGHT_TILE) {
		for (quad = 0; quad < quads; quad++, to += stride)
			pack_quad(to, from + quad * 2 * OVERTAKE_WEIGHT_TILE, 2 * quad + 1 < pairs,
				  check);
	}
}

OVT_SIMD_NOINLINE bool
ovt_conv_pack(const struct ovt_conv_plan *plan, const s8 *weights, u32 count,
	      struct ovt_simd_scratch *scratch)
{
	u32 vectors = vectors_of(count);
	u32 vector;

	for (vector = 0; vector < vectors; vector++) {
		struct check check = { 0 };
		ovt_i16x16 beyond;

		pack_block(plan, weights + vector * plan->block_bytes,
			   scratch->packed + vector * QUAD_BYTES, vectors * QUAD_BYTES, &check);
		beyond = check.greatest > (ovt_i16x16)ovt_broadcast_s16(PAIR_MAX);
		if (__builtin_ia32_pmovmskb256((ovt_c8x32)beyond))
			return false;
		ovt_store_s32x8(&scratch->totals[vector * OVERTAKE_WEIGHT_BLOCK],
				(ovt_s32x8)check.totals);
	}
	return true;
}

static __always_inline ovt_u32x8 multiply_quad(ovt_c8x32 inputs, const s8 *weights)
{
	ovt_c8x32 quad = (ovt_c8x32)ovt_load_s8x32(weights);

	return ovt_multiply_pairs((ovt_s16x16)__builtin_ia32_pmaddubsw256(inputs, quad),
				  ovt_broadcast_s16(1));
}

static __always_inline void
multiply_run(struct ovt_simd_sums *sums, const u8 *const *windows, u64 at, const s8 *weights,
	     const s8 *end, const u32 pixels, const u32 vectors)
{
	for (; weights != end; weights += vectors * QUAD_BYTES, at += INPUTS_AT_ONCE) {
		u32 p;

#pragma GCC unroll 5
		for (p = 0; p < pixels; p++) {
			ovt_c8x32 inputs =
				(ovt_c8x32)ovt_broadcast_s32(ovt_load_s32(windows[p] + at));

			sums[p].low += multiply_quad(inputs, weights);
			if (vectors == 2)
				sums[p].high += multiply_quad(inputs, weights + QUAD_BYTES);
		}
	}
}

static __always_inline void
multiply(struct ovt_conv_strip *strip, const struct ovt_conv_run *run, const s8 *weights,
	 const struct ovt_simd_sums *start, const u32 pixels, const u32 vectors)
{
	u64 run_bytes = (u64)run->length * vectors * QUAD_BYTES;
	struct ovt_simd_sums sums[OVT_BYTES_PIXELS];
	u32 p, y, x;

#pragma GCC unroll 5
	for (p = 0; p < pixels; p++)
		sums[p] = *start;
	for (y = 0; y < run->rows; y++) {
		u64 at = (u64)y * run->row_step;

		for (x = 0; x < run->columns; x++) {
			multiply_run(sums, strip->windows, at, weights, weights + run_bytes,
				     pixels, vectors);
			weights += run_bytes;
			at += run->column_step;
		}
	}
#pragma GCC unroll 5
	for (p = 0; p < pixels; p++)
		strip->sums[p] = sums[p];
}

/* A copy of multiply() for each shape: its sums stay in registers. */
static __always_inline void
multiply_pixels(struct ovt_conv_strip *strip, const struct ovt_conv_run *run, const s8 *weights,
		const struct ovt_simd_sums *start, const u32 vectors)
{
	switch (strip->pixels) {
	case 1:
		multiply(strip, run, weights, start, 1, vectors);
		break;
	case 2:
		multiply(strip, run, weights, start, 2, vectors);
		break;
	case 3:
		multiply(strip, run, weights, start, 3, vectors);
		break;
	case 4:
		multiply(strip, run, weights, start, 4, vectors);
		break;
	default:
		multiply(strip, run, weights, start, 5, vectors);
		break;
	}
}

static OVT_SIMD_NOINLINE void multiply_8(struct ovt_conv_strip *strip,
					 const struct ovt_conv_run *run, const s8 *weights,
					 const struct ovt_simd_sums *start)
{
	multiply_pixels(strip, run, weights, start, 1);
}

static OVT_SIMD_NOINLINE void multiply_16(struct ovt_conv_strip *strip,
					  const struct ovt_conv_run *run, const s8 *weights,
					  const struct ovt_simd_sums *start)
{
	multiply_pixels(strip, run, weights, start, 2);
}

void ovt_conv_multiply_bytes(struct ovt_conv_strip *strip, const struct ovt_conv_plan *plan,
			     const struct ovt_simd_channels *outputs,
			     const struct ovt_simd_scratch *scratch, s32 zero)
{
	ovt_u32x8 added = (ovt_u32x8)ovt_broadcast_s32(zero);
	struct ovt_simd_sums start = outputs->bias;

	start.low -= (ovt_u32x8)ovt_load_s32x8(&scratch->totals[0]) * added;
	if (vectors_of(strip->count) == 1) {
		multiply_8(strip, &plan->bytes_run, scratch->packed, &start);
		return;
	}
	start.high -= (ovt_u32x8)ovt_load_s32x8(&scratch->totals[OVERTAKE_WEIGHT_BLOCK]) * added;
	multiply_16(strip, &plan->bytes_run, scratch->packed, &start);
}
