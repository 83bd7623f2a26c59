/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Which vector instructions a host has: for callers of hw/simd, not for its own files. */
#ifndef OVT_HW_SIMD_CHOOSE_H
#define OVT_HW_SIMD_CHOOSE_H

#include <ovt_simd_port.h>
#include "hw/simd/level.h"

/* Whether the CPU has the instructions of @level, and its registers are switched with tasks. */
static inline bool ovt_simd_has(enum ovt_simd_level level)
{
	switch (level) {
	case OVT_SIMD_AVX512_VBMI:
		return ovt_simd_supported() && ovt_simd_has_avx512_vnni() &&
		       ovt_simd_has_avx512_vbmi();
	case OVT_SIMD_AVX512_VNNI:
		return ovt_simd_supported() && ovt_simd_has_avx512_vnni();
	case OVT_SIMD_AVX_VNNI:
		return ovt_simd_supported() && ovt_simd_has_avx_vnni();
	default:
		return ovt_simd_supported();
	}
}

/* The best instructions, where ovt_simd_supported() holds. */
static inline enum ovt_simd_level ovt_simd_best(void)
{
	u32 level = OVT_SIMD_LEVELS - 1;

	while (level > OVT_SIMD_AVX2 && !ovt_simd_has((enum ovt_simd_level)level))
		level--;
	return (enum ovt_simd_level)level;
}

#endif
