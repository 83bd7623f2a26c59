/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Requantisation of 16 sums at once, exact.
 *
 * A sum (32 bits) and multiplier / 2^shift (24 bits and an exponent) are exact as doubles.  One
 * fused multiply-add to 1.5 * 2^52 rounds their exact product once, to an integer, ties to even:
 * the doubles around that number are the integers.  What exceeds them is rounded more coarsely and
 * clamped, for which that does not matter.  The low word of the clamped double is the result.
 */
#ifndef OVT_HW_SIMD_REQUANTISE_H
#define OVT_HW_SIMD_REQUANTISE_H

#include "hw/decode.h"
#include "hw/simd/vector.h"

#define OVT_SIMD_OUTPUTS	16u
/* Even, so that adding it keeps ties even; an output's zero point would not and comes later. */
#define OVT_ROUNDING_BIAS	6755399441055744.0

/* The range of the result, shared by the outputs of an instruction. */
struct ovt_simd_range {
	ovt_f64x4 least;
	ovt_f64x4 greatest;
	ovt_s16x16 zero_point;
};

/* multiplier / 2^shift of outputs 0..15; as in the scalar code, out of range is not undefined. */
struct ovt_simd_scales {
	ovt_f64x4 factors[4];
};

/* Sums of a pixel: outputs 0..7 and 8..15. */
struct ovt_simd_sums {
	ovt_u32x8 low;
	ovt_u32x8 high;
};

/* What 16 output channels need to be finished. */
struct ovt_simd_channels {
	struct ovt_simd_range range;
	struct ovt_simd_scales scales;
	struct ovt_simd_sums bias;
};

/*
 * ovt_simd_channels_load - parameters of CONV, DEPTHWISE, MATMUL
 *
 * Of @count channels, at most 16, from @first on; those of others are not read.
 */
void ovt_simd_channels_load(struct ovt_simd_channels *channels, const struct overtake_insn *insn,
			    const struct ovt_operands *operands, u32 first, u32 count);

static __always_inline void
ovt_simd_range_init(struct ovt_simd_range *range, const struct overtake_insn *insn)
{
	s32 zero_point = insn->out.zero_point;

	range->least = ovt_broadcast_f64(OVT_ROUNDING_BIAS + (insn->clamp_min - zero_point));
	range->greatest = ovt_broadcast_f64(OVT_ROUNDING_BIAS + (insn->clamp_max - zero_point));
	range->zero_point = ovt_broadcast_s16((s16)zero_point);
}

/* multiplier / 2^shift of 4 outputs. */
static __always_inline ovt_f64x4 ovt_simd_factors(ovt_s32x4 multipliers, ovt_s32x4 shifts)
{
	const ovt_s32x4 exponents = 1023 - shifts;
	ovt_i64x4 powers = __builtin_ia32_pmovzxdq256((ovt_i32x4)exponents);

	powers = __builtin_ia32_psllqi256(powers, 52);
	return ovt_to_f64(multipliers) * (ovt_f64x4)powers;
}

/* Of 8 outputs: @multipliers and @shifts as the client has them. */
static __always_inline void
ovt_simd_scale_8(ovt_f64x4 *factors, const u32 *multipliers, const u32 *shifts)
{
	ovt_i32x8 multiplier = (ovt_i32x8)ovt_load_s32x8(multipliers);
	ovt_i32x8 shift = (ovt_i32x8)ovt_load_s32x8(shifts);

	multiplier &= (int)OVERTAKE_MULTIPLIER_MAX;
	/* As unsigned numbers: so does the scalar code. */
	shift = __builtin_ia32_pmaxud256(shift,
					 (ovt_i32x8)ovt_broadcast_s32(OVERTAKE_SHIFT_MIN));
	shift = __builtin_ia32_pminud256(shift,
					 (ovt_i32x8)ovt_broadcast_s32(OVERTAKE_SHIFT_MAX));
	factors[0] = ovt_simd_factors(ovt_low_half((ovt_u32x8)multiplier),
				      ovt_low_half((ovt_u32x8)shift));
	factors[1] = ovt_simd_factors(ovt_high_half((ovt_u32x8)multiplier),
				      ovt_high_half((ovt_u32x8)shift));
}

/* What has been added to OVT_ROUNDING_BIAS, in the instruction's range. */
static __always_inline ovt_f64x4
ovt_simd_clamp(ovt_f64x4 rounded, const struct ovt_simd_range *range)
{
	return __builtin_ia32_minpd256(__builtin_ia32_maxpd256(rounded, range->least),
				       range->greatest);
}

static __always_inline ovt_f64x4
ovt_simd_round(ovt_s32x4 sums, ovt_f64x4 factors, const struct ovt_simd_range *range)
{
	ovt_f64x4 rounded = __builtin_ia32_vfmaddpd256(ovt_to_f64(sums), factors,
						       ovt_broadcast_f64(OVT_ROUNDING_BIAS));

	return ovt_simd_clamp(rounded, range);
}

/* Low words of both: elements 0 1 4 5 | 2 3 6 7. */
static __always_inline ovt_i32x8 ovt_simd_low_words(ovt_f64x4 low, ovt_f64x4 high)
{
	return (ovt_i32x8)__builtin_ia32_shufps256((ovt_f32x8)low, (ovt_f32x8)high, 0x88);
}

/* Clamped and rounded doubles of outputs 0..15 to their bytes. */
static __always_inline ovt_s8x16
ovt_simd_pack(const ovt_f64x4 *rounded, const struct ovt_simd_range *range)
{
	/* Words 0 1 4 5 8 9 12 13 | 2 3 6 7 10 11 14 15 */
	ovt_i16x16 words = __builtin_ia32_packssdw256(ovt_simd_low_words(rounded[0], rounded[1]),
						      ovt_simd_low_words(rounded[2], rounded[3]));
	ovt_c8x32 bytes;
	ovt_s32x4 low, high;

	words = (ovt_i16x16)((ovt_s16x16)words + range->zero_point);
	bytes = __builtin_ia32_packsswb256(words, words);
	low = ovt_low_half((ovt_u32x8)bytes);
	high = ovt_high_half((ovt_u32x8)bytes);
	return (ovt_s8x16)__builtin_ia32_punpcklwd128((ovt_i16x8)low, (ovt_i16x8)high);
}

/* Sums of outputs 0..15 to their bytes. */
static __always_inline ovt_s8x16
ovt_simd_requantise(const struct ovt_simd_sums *sums, const struct ovt_simd_channels *channels)
{
	const ovt_f64x4 *factors = channels->scales.factors;
	const struct ovt_simd_range *range = &channels->range;
	ovt_f64x4 rounded[4] = {
		ovt_simd_round(ovt_low_half(sums->low), factors[0], range),
		ovt_simd_round(ovt_high_half(sums->low), factors[1], range),
		ovt_simd_round(ovt_low_half(sums->high), factors[2], range),
		ovt_simd_round(ovt_high_half(sums->high), factors[3], range),
	};

	return ovt_simd_pack(rounded, range);
}

/* @count outputs, at most 16. */
static __always_inline void ovt_simd_store(s8 *out, ovt_s8x16 bytes, u32 count)
{
	if (count == OVT_SIMD_OUTPUTS) {
		ovt_store_s8x16(out, bytes);
	} else {
		s8 kept[OVT_SIMD_OUTPUTS];

		ovt_store_s8x16(kept, bytes);
		memcpy(out, kept, count);
	}
}

#endif
