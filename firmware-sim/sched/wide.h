/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Unsigned arithmetic in 128 bits, so that times and their products are compared exactly. */
#ifndef OVT_SCHED_WIDE_H
#define OVT_SCHED_WIDE_H

#include <ovt_port.h>

struct ovt_wide {
	u64 high;
	u64 low;
};

static inline struct ovt_wide ovt_wide(u64 value)
{
	return (struct ovt_wide){ .high = 0, .low = value };
}

static inline struct ovt_wide ovt_wide_most(void)
{
	return (struct ovt_wide){ .high = ~0ull, .low = ~0ull };
}

static inline bool ovt_wide_below(struct ovt_wide a, struct ovt_wide b)
{
	return a.high != b.high ? a.high < b.high : a.low < b.low;
}

static inline struct ovt_wide ovt_wide_max(struct ovt_wide a, struct ovt_wide b)
{
	return ovt_wide_below(a, b) ? b : a;
}

/* The sum is below 2^128. */
static inline struct ovt_wide ovt_wide_add(struct ovt_wide a, struct ovt_wide b)
{
	u64 low = a.low + b.low;

	return (struct ovt_wide){ .high = a.high + b.high + (low < a.low), .low = low };
}

/* @b is at most @a. */
static inline struct ovt_wide ovt_wide_subtract(struct ovt_wide a, struct ovt_wide b)
{
	return (struct ovt_wide){ .high = a.high - b.high - (a.low < b.low), .low = a.low - b.low };
}

static inline struct ovt_wide ovt_wide_multiply(u64 a, u64 b)
{
	u64 a_low = (u32)a, a_high = a >> 32;
	u64 b_low = (u32)b, b_high = b >> 32;
	u64 low = a_low * b_low;
	u64 middle = a_high * b_low + (low >> 32);
	u64 cross = a_low * b_high + (u32)middle;

	return (struct ovt_wide){
		.high = a_high * b_high + (middle >> 32) + (cross >> 32),
		.low = (cross << 32) | (u32)low,
	};
}

/* Returns @a / 100, rounded up: the whole numbers below the quotient are those below the result. */
static inline struct ovt_wide ovt_wide_hundredth(struct ovt_wide a)
{
	u64 upper = a.high % 100 << 32 | a.low >> 32;
	u64 lower = upper % 100 << 32 | (u32)a.low;
	struct ovt_wide down = {
		.high = a.high / 100,
		.low = upper / 100 << 32 | lower / 100,
	};

	return ovt_wide_add(down, ovt_wide(lower % 100 != 0));
}

#endif
