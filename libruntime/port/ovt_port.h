/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The functions that firmware-sim needs from its host, for a host that is a process. */
#ifndef OVT_PORT_H
#define OVT_PORT_H

#ifdef __cplusplus
#include <cerrno>
#include <cstdint>
#include <cstring>
#else
#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#endif

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

#define ovt_load_acquire(pointer)		__atomic_load_n(pointer, __ATOMIC_ACQUIRE)
#define ovt_store_release(pointer, value)	__atomic_store_n(pointer, value, __ATOMIC_RELEASE)
/* By speculation a process can attack only itself, so the plain index is enough. */
#define ovt_index_nospec(index, size)		((void)(size), (index))
#define ovt_barrier_nospec()			((void)0)
#define ovt_compiler_barrier()			__asm__ volatile("" ::: "memory")
#define ovt_read_once(value)			__atomic_load_n(&(value), __ATOMIC_RELAXED)
#define ovt_write_once(place, value)		__atomic_store_n(&(place), value, __ATOMIC_RELAXED)

#endif
