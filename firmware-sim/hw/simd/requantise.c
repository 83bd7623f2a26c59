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

void ovt_simd_channels_load(struct ovt_simd_channels *channels, const struct overtake_insn *insn,
			    const struct ovt_operands *operands, u32 first, u32 count,
			    u64 most)
{
	u64 array = ((u64)insn->out.channels + 7) / 8 * 8 * sizeof(u32);
	const u8 *params = operands->params + (u64)first * sizeof(u32);
	u32 words[3][OVT_SIMD_OUTPUTS] = { { 0 } };
	u32 half = OVT_SIMD_OUTPUTS / 2;
	u32 i;

	for (i = 0; i < 3; i++)
		memcpy(words[i], params + i * array, count * sizeof(u32));
	ovt_simd_range_init(&channels->range, insn);
	channels->bias = ovt_simd_in_order((ovt_u32x8)ovt_load_s32x8(words[0]),
					   (ovt_u32x8)ovt_load_s32x8(&words[0][half]));
	ovt_simd_scale_8(&channels->scales.factors[0], words[1], words[2]);
	ovt_simd_scale_8(&channels->scales.factors[2], &words[1][half], &words[2][half]);
	load_single(&channels->single, insn, words[1], words[2]);
	channels->factors_fit = factors_fit(&channels->single);
	channels->sums_fit = channels->factors_fit && sums_fit(&channels->bias, most);
}
