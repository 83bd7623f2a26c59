// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "hw/simd/requantise.h"

void ovt_simd_channels_load(struct ovt_simd_channels *channels, const struct overtake_insn *insn,
			    const struct ovt_operands *operands, u32 first, u32 count)
{
	u64 array = ((u64)insn->out.channels + 7) / 8 * 8 * sizeof(u32);
	const u8 *params = operands->params + (u64)first * sizeof(u32);
	u32 words[3][OVT_SIMD_OUTPUTS] = { { 0 } };
	u32 half = OVT_SIMD_OUTPUTS / 2;
	u32 i;

	for (i = 0; i < 3; i++)
		memcpy(words[i], params + i * array, count * sizeof(u32));
	ovt_simd_range_init(&channels->range, insn);
	channels->bias.low = (ovt_u32x8)ovt_load_s32x8(words[0]);
	channels->bias.high = (ovt_u32x8)ovt_load_s32x8(&words[0][half]);
	ovt_simd_scale_8(&channels->scales.factors[0], words[1], words[2]);
	ovt_simd_scale_8(&channels->scales.factors[2], &words[1][half], &words[2][half]);
}
