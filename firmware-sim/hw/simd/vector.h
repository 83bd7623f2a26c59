/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Vectors of 256 bits, by the compiler's own types: <immintrin.h> does not build in a kernel. */
#ifndef OVT_HW_SIMD_VECTOR_H
#define OVT_HW_SIMD_VECTOR_H

#include <ovt_port.h>

/*
 * The pragma applies from here on.  A file that includes this one does so last, except for similar
 * headers.  Its functions run only where the CPU is known to have AVX2 and FMA (hw/simd/simd.h).
 */
#pragma GCC target("avx2,fma")

typedef s8 ovt_s8x16 __attribute__((vector_size(16)));
typedef s16 ovt_s16x8 __attribute__((vector_size(16)));
typedef s32 ovt_s32x4 __attribute__((vector_size(16)));
typedef u32 ovt_u32x4 __attribute__((vector_size(16)));
typedef s64 ovt_s64x2 __attribute__((vector_size(16)));
typedef float ovt_f32x4 __attribute__((vector_size(16)));
typedef s8 ovt_s8x32 __attribute__((vector_size(32)));
typedef s16 ovt_s16x16 __attribute__((vector_size(32)));
typedef s32 ovt_s32x8 __attribute__((vector_size(32)));
typedef u32 ovt_u32x8 __attribute__((vector_size(32)));
typedef s64 ovt_s64x4 __attribute__((vector_size(32)));
typedef double ovt_f64x4 __attribute__((vector_size(32)));
typedef float ovt_f32x8 __attribute__((vector_size(32)));

/* The same vectors with the element types of the compiler's builtins. */
typedef char ovt_c8x16 __attribute__((vector_size(16)));
typedef char ovt_c8x32 __attribute__((vector_size(32)));
typedef short ovt_i16x8 __attribute__((vector_size(16)));
typedef short ovt_i16x16 __attribute__((vector_size(32)));
typedef int ovt_i32x4 __attribute__((vector_size(16)));
typedef int ovt_i32x8 __attribute__((vector_size(32)));
typedef long long ovt_i64x2 __attribute__((vector_size(16)));
typedef long long ovt_i64x4 __attribute__((vector_size(32)));

/* Gives a function a stack frame and registers of its own. */
#define OVT_SIMD_NOINLINE	__attribute__((__noinline__))

/*
 * Leaves an array unset until it is written.  A kernel's compiler sets all other variables to 0
 * first, which would keep an array of vectors in memory.
 */
#define OVT_SIMD_UNSET		__attribute__((__uninitialized__))

/* Makes the compiler read memory again: no earlier value stays in a register. */
static __always_inline void ovt_simd_reload(void)
{
	__asm__ volatile("" : : : "memory");
}

/* Makes the compiler compute @vector at this place, neither sooner nor later. */
#define ovt_simd_settle(vector)	({ __asm__ volatile("" : "+x"(vector)); })

/* Loads and stores at any address. */
#define OVT_DEFINE_UNALIGNED(type, name)						\
	typedef type ovt_unaligned_##name __attribute__((aligned(1), may_alias));	\
	static __always_inline type ovt_load_##name(const void *from)	\
	{										\
		return *(const ovt_unaligned_##name *)from;				\
	}										\
	static __always_inline void ovt_store_##name(void *to, type value)	\
	{										\
		*(ovt_unaligned_##name *)to = value;					\
	}

OVT_DEFINE_UNALIGNED(ovt_s8x16, s8x16)
OVT_DEFINE_UNALIGNED(ovt_s16x8, s16x8)
OVT_DEFINE_UNALIGNED(ovt_s8x32, s8x32)
OVT_DEFINE_UNALIGNED(ovt_s16x16, s16x16)
OVT_DEFINE_UNALIGNED(ovt_s32x4, s32x4)
OVT_DEFINE_UNALIGNED(ovt_s32x8, s32x8)
OVT_DEFINE_UNALIGNED(u64, u64)
OVT_DEFINE_UNALIGNED(s32, s32)

static __always_inline ovt_s8x32 ovt_broadcast_s8(s8 value)
{
	return (ovt_s8x32) { 0 } + value;
}

static __always_inline ovt_s16x16 ovt_broadcast_s16(s16 value)
{
	return (ovt_s16x16) { value, value, value, value, value, value, value, value,
			     value, value, value, value, value, value, value, value };
}

static __always_inline ovt_s32x8 ovt_broadcast_s32(s32 value)
{
	return (ovt_s32x8) { value, value, value, value, value, value, value, value };
}

static __always_inline ovt_f64x4 ovt_broadcast_f64(double value)
{
	return (ovt_f64x4) { value, value, value, value };
}

/* Returns 16 bytes as 16-bit elements. */
static __always_inline ovt_s16x16 ovt_widen_s8(ovt_s8x16 bytes)
{
	return (ovt_s16x16)__builtin_ia32_pmovsxbw256((ovt_c8x16)bytes);
}

/* Returns 8 elements of 16 bits as 32-bit ones. */
static __always_inline ovt_u32x8 ovt_widen_s16(ovt_s32x4 words)
{
	return (ovt_u32x8)__builtin_ia32_pmovsxwd256((ovt_i16x8)words);
}

/* Returns the products of 16-bit elements, with neighbours added up. */
static __always_inline ovt_u32x8 ovt_multiply_pairs(ovt_s16x16 a, ovt_s16x16 b)
{
	return (ovt_u32x8)__builtin_ia32_pmaddwd256((ovt_i16x16)a, (ovt_i16x16)b);
}

static __always_inline ovt_s32x4 ovt_low_half(ovt_u32x8 vector)
{
	return (ovt_s32x4)__builtin_ia32_extract128i256((ovt_i64x4)vector, 0);
}

static __always_inline ovt_s32x4 ovt_high_half(ovt_u32x8 vector)
{
	return (ovt_s32x4)__builtin_ia32_extract128i256((ovt_i64x4)vector, 1);
}

static __always_inline ovt_c8x32 ovt_join(ovt_s32x4 low, ovt_s32x4 high)
{
	ovt_i64x4 both = (ovt_i64x4)__builtin_ia32_si256_si((ovt_i32x4)low);

	return (ovt_c8x32)__builtin_ia32_insert128i256(both, (ovt_i64x2)high, 1);
}

/* Returns 4 floats as doubles. */
static __always_inline ovt_f64x4 ovt_single_to_f64(ovt_s32x4 vector)
{
	return __builtin_ia32_cvtps2pd256((ovt_f32x4)vector);
}

static __always_inline ovt_f64x4 ovt_to_f64(ovt_s32x4 vector)
{
	return __builtin_ia32_cvtdq2pd256((ovt_i32x4)vector);
}

#endif
