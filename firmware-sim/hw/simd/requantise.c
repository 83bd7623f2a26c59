// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "hw/simd/requantise.h"

static bool any(ovt_i32x8 condition)
{
	return __builtin_ia32_pmovmskb256((ovt_c8x32)condition);
}

static bool factors_fit(const struct ovt_simd_single *single)
{
	const ovt_f32x8 half = (ovt_f32x8)ovt_broadcast_s32(0x3f000000);

	return !any((ovt_i32x8)(single->low > half) | (ovt_i32x8)(single->high > half));
}

/* Whether no sum can exceed OVT_SINGLE_MAX. */
static bool sums_fit(const struct ovt_simd_sums *bias, u64 most)
{
	const u32 room = most < OVT_SINGLE_MAX ? OVT_SINGLE_MAX - (u32)most : 0;
	const ovt_u32x8 limit = (ovt_u32x8)ovt_broadcast_s32((s32)room);

	return room && !any((ovt_i32x8)(bias->low + limit > limit + limit) |
			    (ovt_i32x8)(bias->high + limit > limit + limit));
}

static void load_single(struct ovt_simd_single *single, const struct overtake_insn *insn,
			const u32 *multipliers, const u32 *shifts)
{
	const u32 half = OVT_SIMD_OUTPUTS / 2;
	ovt_f32x8 first = ovt_simd_single_factors(multipliers, shifts);
	ovt_f32x8 second = ovt_simd_single_factors(multipliers + half, shifts + half);
	struct ovt_simd_sums ordered = ovt_simd_in_order((ovt_u32x8)first, (ovt_u32x8)second);

	single->low = (ovt_f32x8)ordered.low;
	single->high = (ovt_f32x8)ordered.high;
	single->zero = (ovt_u32x8)ovt_broadcast_s32(OVT_SINGLE_BIAS_BITS - insn->out.zero_point);
	single->least = ovt_broadcast_s8((s8)insn->clamp_min);
	single->greatest = ovt_broadcast_s8((s8)insn->clamp_max);
}

/* As the client has them. */
struct params {
	u32 biases[OVT_SIMD_OUTPUTS];
	u32 multipliers[OVT_SIMD_OUTPUTS];
	u32 shifts[OVT_SIMD_OUTPUTS];
};

/* All 16 of each, the arrays @array apart. */
static void copy_params(struct params *to, const u32 *from, u64 array)
{
	u32 i;

	for (i = 0; i < OVT_SIMD_OUTPUTS; i += 8) {
		ovt_store_s32x8(to->biases + i, ovt_load_s32x8(from + i));
		ovt_store_s32x8(to->multipliers + i, ovt_load_s32x8(from + array + i));
		ovt_store_s32x8(to->shifts + i, ovt_load_s32x8(from + 2 * array + i));
	}
}

void ovt_simd_channels_load(struct ovt_simd_channels *channels, const struct overtake_insn *insn,
			    const struct ovt_operands *operands, u32 first, u32 count,
			    u64 most)
{
	const u64 array = ((u64)insn->out.channels + 7) / 8 * 8;
	const u32 *params = (const u32 *)operands->params + first;
	const u32 half = OVT_SIMD_OUTPUTS / 2;
	struct params words;

	if (count == OVT_SIMD_OUTPUTS) {
		copy_params(&words, params, array);
	} else {
		memset(&words, 0, sizeof(words));
		memcpy(words.biases, params, count * sizeof(u32));
		memcpy(words.multipliers, params + array, count * sizeof(u32));
		memcpy(words.shifts, params + 2 * array, count * sizeof(u32));
	}
	ovt_simd_range_init(&channels->range, insn);
	channels->bias = ovt_simd_in_order((ovt_u32x8)ovt_load_s32x8(words.biases),
					   (ovt_u32x8)ovt_load_s32x8(words.biases + half));
	ovt_simd_scale_8(&channels->scales.factors[0], words.multipliers, words.shifts);
	ovt_simd_scale_8(&channels->scales.factors[2], words.multipliers + half,
			 words.shifts + half);
	load_single(&channels->single, insn, words.multipliers, words.shifts);
	channels->factors_fit = factors_fit(&channels->single);
	channels->sums_fit = channels->factors_fit && sums_fit(&channels->bias, most);
}
