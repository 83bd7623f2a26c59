/* SPDX-License-Identifier: MIT */
/*
 * Compares the headers of uapi/ with abi.inc at compile time: in C, in C++, and in C for a
 * 32-bit client, whose 64-bit integers are aligned to 4 bytes.
 */
#include <stddef.h>

#include "overtake_accel.h"

#ifdef __cplusplus
#define ABI_ASSERT(condition, text) static_assert(condition, text)
#else
#define ABI_ASSERT(condition, text) _Static_assert(condition, text)
#endif

#define ABI_SIZE(structure, bytes)                                                       \
	ABI_ASSERT(sizeof(struct structure) == (bytes), "size of " #structure);          \
	ABI_ASSERT(sizeof(struct structure) % 8 == 0, #structure " is no multiple of 8");
#define ABI_FIELD(structure, field, offset, bytes)                                       \
	ABI_ASSERT(offsetof(struct structure, field) == (offset), #structure "." #field); \
	ABI_ASSERT(sizeof(((struct structure *)0)->field) == (bytes), #structure "." #field);
#define ABI_VALUE(constant, value) ABI_ASSERT((constant) == (value), #constant);

#include "abi.inc"

#undef ABI_SIZE
#undef ABI_FIELD
#undef ABI_VALUE
