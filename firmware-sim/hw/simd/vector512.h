/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Vectors of 512 bits: included last, after the headers that use vectors of 256 bits. */
#ifndef OVT_HW_SIMD_VECTOR512_H
#define OVT_HW_SIMD_VECTOR512_H

#include "hw/simd/vector.h"

/*
 * The pragma applies from here on.  Code behind it may be called only where the CPU is known to
 * have these instructions and the host switches their registers: OVT_SIMD_AVX512_VNNI.
 */
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512vnni")

typedef s8 ovt_s8x64 __attribute__((vector_size(64)));
typedef u16 ovt_u16x32 __attribute__((vector_size(64)));
typedef s32 ovt_s32x16 __attribute__((vector_size(64)));
typedef u32 ovt_u32x16 __attribute__((vector_size(64)));
typedef u64 ovt_u64x8 __attribute__((vector_size(64)));
typedef float ovt_f32x16 __attribute__((vector_size(64)));

/* The same vectors with the element types of the compiler's builtins. */
typedef char ovt_c8x64 __attribute__((vector_size(64)));
typedef short ovt_i16x32 __attribute__((vector_size(64)));
typedef int ovt_i32x16 __attribute__((vector_size(64)));
typedef long long ovt_i64x8 __attribute__((vector_size(64)));

OVT_DEFINE_UNALIGNED(ovt_s32x16, s32x16)

/* The rounding that MXCSR names, for builtins that take one. */
#define OVT_ROUNDING_CURRENT	4

static __always_inline ovt_s32x16 ovt_broadcast_s32x16(s32 value)
{
	return (ovt_s32x16) { value, value, value, value, value, value, value, value,
			      value, value, value, value, value, value, value, value };
}

static __always_inline ovt_s32x16 ovt_broadcast_u64x8(u64 value)
{
	const long long each = (long long)value;
	ovt_i64x8 vector = { each, each, each, each, each, each, each, each };

	return (ovt_s32x16)vector;
}

/* Adds, to each of 16 sums, the products of 4 bytes 0..255 and 4 bytes -128..127. */
static __always_inline ovt_s32x16
ovt_add_products_512(ovt_s32x16 sums, ovt_s32x16 unsigned_bytes, ovt_s32x16 signed_bytes)
{
	return (ovt_s32x16)__builtin_ia32_vpdpbusd_v16si((ovt_i32x16)sums,
							 (ovt_i32x16)unsigned_bytes,
							 (ovt_i32x16)signed_bytes);
}

/* Returns a * b + c, rounded once. */
static __always_inline ovt_f32x16 ovt_fma_512(ovt_f32x16 a, ovt_f32x16 b, ovt_f32x16 c)
{
	return __builtin_ia32_vfmaddps512_mask(a, b, c, (u16)-1, OVT_ROUNDING_CURRENT);
}

static __always_inline ovt_f32x16 ovt_to_f32_512(ovt_s32x16 numbers)
{
	return __builtin_convertvector((ovt_i32x16)numbers, ovt_f32x16);
}

/* Returns 16-bit elements of both vectors, saturated: in turns, 4 of each. */
static __always_inline ovt_i16x32 ovt_pack_words_512(ovt_s32x16 first, ovt_s32x16 second)
{
	return __builtin_ia32_packssdw512_mask((ovt_i32x16)first, (ovt_i32x16)second,
					       (ovt_i16x32) { 0 }, (u32)-1);
}

static __always_inline ovt_c8x64 ovt_pack_bytes_512(ovt_i16x32 first, ovt_i16x32 second)
{
	return __builtin_ia32_packsswb512_mask(first, second, (ovt_c8x64) { 0 }, (u64)-1);
}

static __always_inline ovt_c8x64 ovt_clamp_bytes_512(ovt_c8x64 bytes, ovt_c8x64 least,
						     ovt_c8x64 greatest)
{
	bytes = __builtin_ia32_pmaxsb512_mask(bytes, least, (ovt_c8x64) { 0 }, (u64)-1);
	return __builtin_ia32_pminsb512_mask(bytes, greatest, (ovt_c8x64) { 0 }, (u64)-1);
}

/* Returns the elements of @vector that @indices name. */
static __always_inline ovt_s32x16 ovt_permute_words(ovt_s32x16 vector, ovt_u16x32 indices)
{
	return (ovt_s32x16)__builtin_ia32_permvarhi512_mask((ovt_i16x32)vector,
							    (ovt_i16x32)indices,
							    (ovt_i16x32) { 0 }, (u32)-1);
}

static __always_inline ovt_i32x16 ovt_permute_512(ovt_c8x64 vector, ovt_s32x16 indices)
{
	return __builtin_ia32_permvarsi512_mask((ovt_i32x16)vector, (ovt_i32x16)indices,
						(ovt_i32x16) { 0 }, (u16)-1);
}

/* Puts a vector into each half. */
static __always_inline ovt_s32x16 ovt_join_512(ovt_s32x8 low, ovt_s32x8 high)
{
	return (ovt_s32x16)__builtin_shufflevector((ovt_i32x8)low, (ovt_i32x8)high, 0, 1, 2, 3, 4,
						   5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

/* Whether any bit is set in both. */
static __always_inline bool ovt_any_512(ovt_u32x16 a, ovt_u32x16 b)
{
	return __builtin_ia32_ptestmd512((ovt_i32x16)a, (ovt_i32x16)b, (u16)-1) != 0;
}

/* Returns the sums of elements 0 and 1, 2 and 3, and so on. */
static __always_inline ovt_u32x8 ovt_add_neighbours_512(ovt_u32x16 vector)
{
	ovt_u32x16 odd = (ovt_u32x16)((ovt_u64x8)vector >> 32);

	return (ovt_u32x8)__builtin_ia32_pmovqd512_mask((ovt_i64x8)(vector + odd),
							(ovt_i32x8) { 0 }, 0xff);
}

/* Loads the first @count of 64 bytes, and zeros: no other byte is read. */
static __always_inline ovt_c8x64 ovt_load_some_512(const s8 *from, u64 count)
{
	return __builtin_ia32_loaddquqi512_mask((const char *)from, (ovt_c8x64) { 0 },
						count < 64 ? (1ull << count) - 1 : (u64)-1);
}

/* Returns one of the four vectors of 16 bytes. */
#define ovt_quarter_512(vector, which)						\
	((ovt_s8x16)__builtin_ia32_extracti32x4_mask((vector), (which),		\
						     (ovt_i32x4) { 0 }, 0xf))

/* Returns one of the two halves. */
#define ovt_half_512(vector, which)						\
	((ovt_s8x32)__builtin_ia32_extracti64x4_mask((ovt_i64x8)(vector), (which), \
						     (ovt_i64x4) { 0 }, 0xf))

#endif
