// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * TABLE for CPUs with AVX512-VBMI: vpermi2b looks up 64 elements in 128 bytes at once.
 *
 * Two of them look up the halves of the table, and bit 7 of an index chooses between both.  No
 * element becomes an address: see ovt_index_at().
 */
#include "hw/operator_units.h"
#include "hw/simd/table.h"
#include "hw/simd/vector512.h"

#pragma GCC target("avx512vbmi")

/* Looks up 64 elements in the 256 bytes of the table. */
static __always_inline ovt_s32x16 look_up(const ovt_s32x16 *table, ovt_c8x64 indices)
{
	ovt_c8x64 low = __builtin_ia32_vpermt2varqi512_mask(indices, (ovt_c8x64)table[0],
							    (ovt_c8x64)table[1], (u64)-1);
	ovt_c8x64 high = __builtin_ia32_vpermt2varqi512_mask(indices, (ovt_c8x64)table[2],
							     (ovt_c8x64)table[3], (u64)-1);

	return (ovt_s32x16)__builtin_ia32_blendmb_512_mask(low, high,
							   __builtin_ia32_cvtb2mask512(indices));
}

OVT_SIMD_NOINLINE void ovt_table_vbmi(const u8 *table, const s8 *in, s8 *out, u32 elements)
{
	const ovt_s32x16 parts[4] = {
		ovt_load_s32x16(table), ovt_load_s32x16(table + 64),
		ovt_load_s32x16(table + 128), ovt_load_s32x16(table + 192),
	};
	u32 done = 0;

	for (; elements - done >= 64; done += 64)
		ovt_store_s32x16(out + done,
				 look_up(parts, (ovt_c8x64)ovt_load_s32x16(in + done)));
	if (done < elements) {
		s8 rest[64] __attribute__((aligned(64)));

		ovt_store_s32x16(rest, look_up(parts, ovt_load_some_512(in + done,
									elements - done)));
		memcpy(out + done, rest, elements - done);
	}
}
