/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Requantisation of 16 sums at once, exact, in one of two ways.
 *
 * A sum (32 bits) and multiplier / 2^shift (24 bits and an exponent) are exact as doubles.  One
 * fused multiply-add to 1.5 * 2^52 rounds their exact product once, to an integer, ties to even:
 * the doubles around that number are the integers.  Larger numbers are rounded more coarsely and
 * clamped, for which that does not matter.  The low word of the clamped double is the result.
 *
 * Sums of at most 2^24 are exact as floats too, as multiplier / 2^shift always is.  So the same is
 * done with floats and 1.5 * 2^23 where no sum can be larger and no factor exceeds 1/2: the product
 * is at most 2^23, so its sum with 1.5 * 2^23 is positive, and positive floats compare as
 * their bits do.  Products below 2^22 make integers between 2^23 and 2^24, whose bits count them
 * up; larger products make bits at least 2^22 away, which packing saturates.
 */
#ifndef OVT_HW_SIMD_REQUANTISE_H
#define OVT_HW_SIMD_REQUANTISE_H

#include "hw/decode.h"
#include "hw/simd/vector.h"

#define OVT_SIMD_OUTPUTS	16u
/* Even, so that adding it keeps ties even.  Zero points may be odd, so they are added later. */
#define OVT_ROUNDING_BIAS	6755399441055744.0

/* Bits of 1.5 * 2^23, the same for floats. */
#define OVT_SINGLE_BIAS_BITS	0x4b400000
/* Whole numbers up to this are exact as floats. */
#define OVT_SINGLE_MAX		(1u << 24)

/* The range of the result, shared by the outputs of an instruction. */
struct ovt_simd_range {
	ovt_f64x4 least;
	ovt_f64x4 greatest;
	ovt_s16x16 zero_point;
};

/*
 * Sums of a pixel, in the order in which they are packed: outputs 0..3 and 8..11, then 4..7 and
 * 12..15.
 */
struct ovt_simd_sums {
	ovt_u32x8 low;
	ovt_u32x8 high;
};

/* Sums of outputs 0..7 and of 8..15 as they are packed. */
static __always_inline struct ovt_simd_sums ovt_simd_in_order(ovt_u32x8 first, ovt_u32x8 second)
{
	ovt_i64x4 a = (ovt_i64x4)first, b = (ovt_i64x4)second;

	return (struct ovt_simd_sums){ (ovt_u32x8)__builtin_ia32_permti256(a, b, 0x20),
				       (ovt_u32x8)__builtin_ia32_permti256(a, b, 0x31) };
}

/*
 * multiplier / 2^shift of outputs in the order of their sums.  A float holds each exactly, even
 * where the products of sums and factors need doubles.
 */
struct ovt_simd_factors {
	ovt_f32x8 low;
	ovt_f32x8 high;
};

/* Constants of the requantisation with floats. */
struct ovt_simd_single {
	ovt_u32x8 zero;		/* bits that make 0, less the zero point */
	ovt_s8x32 least;
	ovt_s8x32 greatest;
};

/*
 * struct ovt_simd_channels - data with which 16 output channels are finished
 * @factors_fit: floats are exact where sums are at most OVT_SINGLE_MAX
 * @sums_fit: @factors_fit, and no sum can be larger
 */
struct ovt_simd_channels {
	struct ovt_simd_range range;
	struct ovt_simd_factors factors;
	struct ovt_simd_sums bias;
	struct ovt_simd_single single;
	bool factors_fit;
	bool sums_fit;
};

/*
 * ovt_simd_channels_load - load parameters of CONV, DEPTHWISE, MATMUL
 * @most: greatest magnitude of the sum that is added to an output's bias
 *
 * Loads those of @count channels, at most 16, from @first on; others are not read.
 */
void ovt_simd_channels_load(struct ovt_simd_channels *channels, const struct overtake_insn *insn,
			    const struct ovt_operands *operands, u32 first, u32 count,
			    u64 most);

static __always_inline void
ovt_simd_range_init(struct ovt_simd_range *range, const struct overtake_insn *insn)
{
	s32 zero_point = insn->out.zero_point;

	range->least = ovt_broadcast_f64(OVT_ROUNDING_BIAS + (insn->clamp_min - zero_point));
	range->greatest = ovt_broadcast_f64(OVT_ROUNDING_BIAS + (insn->clamp_max - zero_point));
	range->zero_point = ovt_broadcast_s16((s16)zero_point);
}

/* Loads 8 multipliers of the client as unsigned numbers, taken into range as by the scalar code. */
static __always_inline ovt_i32x8 ovt_simd_multipliers(const u32 *multipliers)
{
	return (ovt_i32x8)ovt_load_s32x8(multipliers) & (int)OVERTAKE_MULTIPLIER_MAX;
}

static __always_inline ovt_i32x8 ovt_simd_shifts(const u32 *shifts)
{
	ovt_i32x8 shift = (ovt_i32x8)ovt_load_s32x8(shifts);

	shift = __builtin_ia32_pmaxud256(shift, (ovt_i32x8)ovt_broadcast_s32(OVERTAKE_SHIFT_MIN));
	return __builtin_ia32_pminud256(shift, (ovt_i32x8)ovt_broadcast_s32(OVERTAKE_SHIFT_MAX));
}

/* Returns multiplier / 2^shift of 8 outputs: each is exact as a float. */
static __always_inline ovt_f32x8
ovt_simd_factors_of(const u32 *multipliers, const u32 *shifts)
{
	ovt_i32x8 powers = (127 - ovt_simd_shifts(shifts)) << 23;

	return __builtin_ia32_cvtdq2ps256(ovt_simd_multipliers(multipliers)) * (ovt_f32x8)powers;
}

/* Clamps numbers that were added to OVT_ROUNDING_BIAS to the instruction's range. */
static __always_inline ovt_f64x4
ovt_simd_clamp(ovt_f64x4 rounded, const struct ovt_simd_range *range)
{
	return __builtin_ia32_minpd256(__builtin_ia32_maxpd256(rounded, range->least),
				       range->greatest);
}

/* Rounds and clamps the results of 4 outputs. */
static __always_inline ovt_f64x4
ovt_simd_round(ovt_s32x4 sums, ovt_s32x4 factors, const struct ovt_simd_range *range)
{
	ovt_f64x4 rounded = __builtin_ia32_vfmaddpd256(ovt_to_f64(sums),
						       ovt_single_to_f64(factors),
						       ovt_broadcast_f64(OVT_ROUNDING_BIAS));

	return ovt_simd_clamp(rounded, range);
}

/* Low words of both: elements 0 1 4 5 | 2 3 6 7. */
static __always_inline ovt_i32x8 ovt_simd_low_words(ovt_f64x4 low, ovt_f64x4 high)
{
	return (ovt_i32x8)__builtin_ia32_shufps256((ovt_f32x8)low, (ovt_f32x8)high, 0x88);
}

/* Turns clamped and rounded doubles of outputs 0..15 into their bytes. */
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

/* Turns sums into the bytes of outputs 0..15. */
static __always_inline ovt_s8x16
ovt_simd_requantise_double(const struct ovt_simd_sums *sums,
			   const struct ovt_simd_channels *channels)
{
	const ovt_u32x8 low = (ovt_u32x8)channels->factors.low;
	const ovt_u32x8 high = (ovt_u32x8)channels->factors.high;
	const struct ovt_simd_range *range = &channels->range;
	ovt_f64x4 rounded[4] = {
		ovt_simd_round(ovt_low_half(sums->low), ovt_low_half(low), range),
		ovt_simd_round(ovt_low_half(sums->high), ovt_low_half(high), range),
		ovt_simd_round(ovt_high_half(sums->low), ovt_high_half(low), range),
		ovt_simd_round(ovt_high_half(sums->high), ovt_high_half(high), range),
	};

	return ovt_simd_pack(rounded, range);
}

/* Turns sums of 8 outputs into words, which may be far beyond the range of the result. */
static __always_inline ovt_i32x8
ovt_simd_single_round(ovt_u32x8 sums, ovt_f32x8 factors, const struct ovt_simd_single *single)
{
	const ovt_f32x8 bias = (ovt_f32x8)ovt_broadcast_s32(OVT_SINGLE_BIAS_BITS);
	ovt_f32x8 rounded = __builtin_ia32_vfmaddps256(__builtin_ia32_cvtdq2ps256((ovt_i32x8)sums),
						       factors, bias);

	return (ovt_i32x8)((ovt_u32x8)rounded - single->zero);
}

static __always_inline ovt_i16x16
ovt_simd_single_words(const struct ovt_simd_sums *sums, const struct ovt_simd_channels *channels)
{
	const struct ovt_simd_factors *factors = &channels->factors;
	const struct ovt_simd_single *single = &channels->single;

	return __builtin_ia32_packssdw256(ovt_simd_single_round(sums->low, factors->low, single),
					  ovt_simd_single_round(sums->high, factors->high,
								single));
}

/* Turns sums of two pixels into the bytes of their outputs 0..15, where floats are exact. */
static __always_inline ovt_s8x32
ovt_simd_requantise_single(const struct ovt_simd_sums *first, const struct ovt_simd_sums *second,
			   const struct ovt_simd_channels *channels)
{
	const struct ovt_simd_single *single = &channels->single;
	ovt_c8x32 bytes = __builtin_ia32_packsswb256(ovt_simd_single_words(first, channels),
						     ovt_simd_single_words(second, channels));

	bytes = (ovt_c8x32)__builtin_ia32_permdi256((ovt_i64x4)bytes, 0xd8);
	bytes = __builtin_ia32_pmaxsb256(bytes, (ovt_c8x32)single->least);
	return (ovt_s8x32)__builtin_ia32_pminsb256(bytes, (ovt_c8x32)single->greatest);
}

/* Turns sums of two pixels into bytes, with floats where they are exact, else with doubles. */
static __always_inline ovt_s8x32
ovt_simd_requantise_2(const struct ovt_simd_sums *first, const struct ovt_simd_sums *second,
		      const struct ovt_simd_channels *channels)
{
	if (channels->sums_fit)
		return ovt_simd_requantise_single(first, second, channels);
	return (ovt_s8x32)ovt_join((ovt_s32x4)ovt_simd_requantise_double(first, channels),
				   (ovt_s32x4)ovt_simd_requantise_double(second, channels));
}

/* Return the bytes of the first pixel, and of the second. */
static __always_inline ovt_s8x16 ovt_simd_first(ovt_s8x32 bytes)
{
	return (ovt_s8x16)ovt_low_half((ovt_u32x8)bytes);
}

static __always_inline ovt_s8x16 ovt_simd_second(ovt_s8x32 bytes)
{
	return (ovt_s8x16)ovt_high_half((ovt_u32x8)bytes);
}

/* Stores @count outputs, at most 16. */
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
