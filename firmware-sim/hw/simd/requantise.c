// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "hw/simd/requantise.h"

static bool any(ovt_i32x8 condition)
{
	return __builtin_ia32_pmovmskb256((ovt_c8x32)condition);
}

static bool factors_fit(const struct ovt_simd_factors *factors)
{
	const ovt_f32x8 half = (ovt_f32x8)ovt_broadcast_s32(0x3f000000);

	return !any((ovt_i32x8)(factors->low > half) | (ovt_i32x8)(factors->high > half));
}

/* Whether no sum can exceed OVT_SINGLE_MAX. */
static bool sums_fit(const struct ovt_simd_sums *bias, u64 most)
{
	const u32 room = most < OVT_SINGLE_MAX ? OVT_SINGLE_MAX - (u32)most : 0;
	const ovt_u32x8 limit = (ovt_u32x8)ovt_broadcast_s32((s32)room);

	return room && !any((ovt_i32x8)(bias->low + limit > limit + limit) |
			    (ovt_i32x8)(bias->high + limit > limit + limit));
}

/* Where the parameters of 16 channels are read. */
struct params {
	const u32 *biases;
	const u32 *multipliers;
	const u32 *shifts;
};

/* Copies of @count channels' parameters, 0 behind them. */
static struct params copy_params(u32 (*to)[OVT_SIMD_OUTPUTS], const struct params *from, u32 count)
{
	memset(to, 0, 3 * sizeof(*to));
	memcpy(to[0], from->biases, count * sizeof(u32));
	memcpy(to[1], from->multipliers, count * sizeof(u32));
	memcpy(to[2], from->shifts, count * sizeof(u32));
	return (struct params) { to[0], to[1], to[2] };
}

static void load_factors(struct ovt_simd_factors *factors, const struct params *params)
{
	const u32 half = OVT_SIMD_OUTPUTS / 2;
	ovt_f32x8 first = ovt_simd_factors_of(params->multipliers, params->shifts);
	ovt_f32x8 second = ovt_simd_factors_of(params->multipliers + half, params->shifts + half);
	struct ovt_simd_sums ordered = ovt_simd_in_order((ovt_u32x8)first, (ovt_u32x8)second);

	factors->low = (ovt_f32x8)ordered.low;
	factors->high = (ovt_f32x8)ordered.high;
}

static void load_single(struct ovt_simd_single *single, const struct overtake_insn *insn)
{
	single->zero = (ovt_u32x8)ovt_broadcast_s32(OVT_SINGLE_BIAS_BITS - insn->out.zero_point);
	single->least = ovt_broadcast_s8((s8)insn->clamp_min);
	single->greatest = ovt_broadcast_s8((s8)insn->clamp_max);
}

void ovt_simd_channels_load(struct ovt_simd_channels *channels, const struct overtake_insn *insn,
			    const struct ovt_operands *operands, u32 first, u32 count,
			    u64 most)
{
	const u64 array = ((u64)insn->out.channels + 7) / 8 * 8;
	const u32 *from = (const u32 *)operands->params + first;
	struct params params = { from, from + array, from + 2 * array };
	u32 copies[3][OVT_SIMD_OUTPUTS];

	if (count != OVT_SIMD_OUTPUTS)
		params = copy_params(copies, &params, count);
	ovt_simd_range_init(&channels->range, insn);
	channels->bias = ovt_simd_in_order((ovt_u32x8)ovt_load_s32x8(params.biases),
					   (ovt_u32x8)ovt_load_s32x8(params.biases + 8));
	load_factors(&channels->factors, &params);
	load_single(&channels->single, insn);
	channels->factors_fit = factors_fit(&channels->factors);
	channels->sums_fit = channels->factors_fit && sums_fit(&channels->bias, most);
}
