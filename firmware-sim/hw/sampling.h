/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Positions in an image, for RESIZE_* and NV12. */
#ifndef OVT_HW_SAMPLING_H
#define OVT_HW_SAMPLING_H

#include <ovt_port.h>
#include "overtake_isa.h"

#define OVT_FRACTION_BITS	8u
#define OVT_FRACTION_ONE	(1u << OVT_FRACTION_BITS)
/* Fraction bits of a value that is weighted along both axes. */
#define OVT_SAMPLE_BITS		(2 * OVT_FRACTION_BITS)

/*
 * struct ovt_sample - two neighbours along an axis and the weight of the second, 0..255 of 256
 *
 * If the weight is 0, the second is the first: there may be no other neighbour.
 */
struct ovt_sample {
	u32 first;
	u32 second;
	u32 fraction;
};

static inline s64 ovt_position_clamp(s64 position, u32 size)
{
	s64 last = (s64)((u64)(size - 1) << OVERTAKE_POSITION_BITS);

	if (position < 0)
		return 0;
	return position > last ? last : position;
}

/* Returns the position of output row or column @output, in 1/2^20 pixels.  No sum overflows. */
static inline s64 ovt_position(s64 start, u32 step, u32 output, u32 size)
{
	return ovt_position_clamp(start + (s64)((u64)output * step), size);
}

static inline struct ovt_sample ovt_sample_at(s64 position)
{
	struct ovt_sample sample;

	sample.first = (u32)(position >> OVERTAKE_POSITION_BITS);
	sample.fraction = (u32)(position >> (OVERTAKE_POSITION_BITS - OVT_FRACTION_BITS)) &
			  (OVT_FRACTION_ONE - 1);
	sample.second = sample.first + !!sample.fraction;
	return sample;
}

/* Returns the weighted mean of @first and @second, times 256. */
static inline s32 ovt_blend(s32 first, s32 second, u32 fraction)
{
	return first * (s32)(OVT_FRACTION_ONE - fraction) + second * (s32)fraction;
}

#endif
