/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Functions for callers of hw/simd, when the host is the kernel.  Not for hw/simd's own files. */
#ifndef OVT_SIMD_PORT_H
#define OVT_SIMD_PORT_H

#include <ovt_port.h>
#include <linux/fpu.h>
#include <linux/sched.h>
#include <asm/cpufeature.h>
#include <asm/fpu/api.h>
#include <asm/fpu/types.h>
#include <asm/simd.h>

/* The state between ovt_simd_begin() and ovt_simd_end(): the kernel needs none. */
struct ovt_simd_section {
};

/* Whether the CPU has the instructions of hw/simd, and the kernel saves their registers. */
static inline bool ovt_simd_supported(void)
{
	return boot_cpu_has(X86_FEATURE_AVX2) && boot_cpu_has(X86_FEATURE_FMA) &&
	       cpu_has_xfeatures(XFEATURE_MASK_SSE | XFEATURE_MASK_YMM, NULL);
}

/* Whether the CPU also has more instructions (hw/simd/level.h), if ovt_simd_supported() holds. */
static inline bool ovt_simd_has_avx512_vnni(void)
{
	return boot_cpu_has(X86_FEATURE_AVX512F) && boot_cpu_has(X86_FEATURE_AVX512BW) &&
	       boot_cpu_has(X86_FEATURE_AVX512VL) && boot_cpu_has(X86_FEATURE_AVX512_VNNI) &&
	       cpu_has_xfeatures(XFEATURE_MASK_AVX512, NULL);
}

static inline bool ovt_simd_has_avx512_vbmi(void)
{
	return boot_cpu_has(X86_FEATURE_AVX512VBMI);
}

static inline bool ovt_simd_has_avx_vnni(void)
{
	return boot_cpu_has(X86_FEATURE_AVX_VNNI);
}

/*
 * Takes the vector registers; preemption is off until ovt_simd_end().  Returns false while another
 * thread waits for the CPU, which goes first, or while the kernel may not use the registers.
 */
static inline bool ovt_simd_begin(struct ovt_simd_section *section)
{
	if (need_resched() || !may_use_simd())
		return false;
	kernel_fpu_begin();
	return true;
}

static inline void ovt_simd_end(struct ovt_simd_section *section)
{
	kernel_fpu_end();
}

#endif
