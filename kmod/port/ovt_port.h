/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The functions that firmware-sim needs from its host, when the host is the kernel. */
#ifndef OVT_PORT_H
#define OVT_PORT_H

#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/nospec.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/barrier.h>
#include <asm/cpufeatures.h>

/* Pairs with ovt_store_release() of the same word. */
#define ovt_load_acquire(pointer)		smp_load_acquire(pointer)
/* Pairs with ovt_load_acquire() of the same word. */
#define ovt_store_release(pointer, value)	smp_store_release(pointer, value)
#define ovt_index_nospec(index, size)		array_index_nospec(index, size)
#define ovt_barrier_nospec()			barrier_nospec()
/* Prevents the compiler from reading shared memory again after a copy was taken. */
#define ovt_compiler_barrier()			barrier()
/* A counter that one thread writes and others may read at any time. */
#define ovt_read_once(value)			READ_ONCE(value)
#define ovt_write_once(place, value)		WRITE_ONCE(place, value)

#endif
