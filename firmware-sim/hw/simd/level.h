/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The sets of vector instructions that hw/simd has operators for. */
#ifndef OVT_HW_SIMD_LEVEL_H
#define OVT_HW_SIMD_LEVEL_H

/**
 * enum ovt_simd_level - vector instructions of a host; each level includes AVX2 and FMA
 * @OVT_SIMD_AVX2: 256 bits; products of bytes are added up in 16 bits
 * @OVT_SIMD_AVX_VNNI: 256 bits; vpdpbusd adds products of bytes up in 32 bits
 * @OVT_SIMD_AVX512_VNNI: the same with 512 bits: AVX512F, BW, VL and VNNI
 * @OVT_SIMD_AVX512_VBMI: the same, and vpermi2b looks up bytes in tables
 *
 * Every level gives the same bytes.
 */
enum ovt_simd_level {
	OVT_SIMD_AVX2,
	OVT_SIMD_AVX_VNNI,
	OVT_SIMD_AVX512_VNNI,
	OVT_SIMD_AVX512_VBMI,
	OVT_SIMD_LEVELS
};

/* The name of a level, as settings and files show it. */
static inline const char *ovt_simd_level_name(enum ovt_simd_level level)
{
	switch (level) {
	case OVT_SIMD_AVX_VNNI:
		return "avx-vnni";
	case OVT_SIMD_AVX512_VNNI:
		return "avx512-vnni";
	case OVT_SIMD_AVX512_VBMI:
		return "avx512-vbmi";
	default:
		return "avx2";
	}
}

#endif
