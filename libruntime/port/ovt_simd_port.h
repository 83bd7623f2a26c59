/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The functions that hw/simd needs from its host, for a host that is a process. */
#ifndef OVT_SIMD_PORT_H
#define OVT_SIMD_PORT_H

#include <ovt_port.h>

/* The MXCSR for double arithmetic: exceptions masked, rounding to nearest. */
#define OVT_MXCSR_DEFAULT	0x1f80u

/* Used between ovt_simd_begin() and ovt_simd_end(). */
struct ovt_simd_section {
	u32 mxcsr;
};

/* Whether the CPU and the system have the instructions that hw/simd is compiled for. */
static inline bool ovt_simd_supported(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

/* Whether the CPU also has more instructions (hw/simd/level.h), if ovt_simd_supported() holds. */
static inline bool ovt_simd_has_avx512_vnni(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
}

static inline bool ovt_simd_has_avx512_vbmi(void)
{
	return __builtin_cpu_supports("avx512vbmi");
}

static inline bool ovt_simd_has_avx_vnni(void)
{
	return __builtin_cpu_supports("avxvnni");
}

/*
 * Takes the vector registers, with OVT_MXCSR_DEFAULT.  Returns false if the caller has to try again
 * later, which never happens here.
 */
static inline bool ovt_simd_begin(struct ovt_simd_section *section)
{
	section->mxcsr = __builtin_ia32_stmxcsr();
	__builtin_ia32_ldmxcsr(OVT_MXCSR_DEFAULT);
	return true;
}

static inline void ovt_simd_end(struct ovt_simd_section *section)
{
	__builtin_ia32_ldmxcsr(section->mxcsr);
}

#endif
