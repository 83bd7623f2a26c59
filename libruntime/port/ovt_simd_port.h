/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What hw/simd needs of its host, when the host is a process. */
#ifndef OVT_SIMD_PORT_H
#define OVT_SIMD_PORT_H

#include <ovt_port.h>

/* The state that doubles start with: exceptions masked, rounded to nearest. */
#define OVT_MXCSR_DEFAULT	0x1f80u

/* Between ovt_simd_begin() and ovt_simd_end(). */
struct ovt_simd_section {
	u32 mxcsr;
};

/* Whether CPU and system have what hw/simd is compiled for. */
static inline bool ovt_simd_supported(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

/*
 * Takes the vector registers, with the state of doubles as above.  False if that cannot be now and
 * is to be tried later: never here.
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
