// SPDX-License-Identifier: MIT
/* RESIZE_* and NV12 with fractions instead of shifts, and BT.601 from its definition. */
#include "reference_parts.h"

#include <math.h>

#define PIXEL (1 << 20)

static __int128 cut(__int128 position, u32 size)
{
	__int128 last = (__int128)(size - 1) * PIXEL;

	return position < 0 ? 0 : position > last ? last : position;
}

static __int128 position(s64 start, u32 step, u32 output, u32 size)
{
	return cut((__int128)start + (__int128)output * step, size);
}

static u64 floor_of(__int128 at)
{
	return (u64)(at / PIXEL);
}

/* Returns a byte of a picture's plane (without sign) or an element of a tensor. */
static s64 value(const struct random_job *job, u32 index, u64 y, u64 x, u32 c)
{
	s64 element = reference_input(job, index, (s64)y, (s64)x, c);

	if (job->insn.opcode != OVERTAKE_OP_NV12)
		return element + job->insn.in[index].zero_point;
	return element < 0 ? element + 256 : element;
}

/* Returns the mean of four neighbours: weights are products of 1/256ths, halves go to even. */
static s64 bilinear(const struct random_job *job, u32 index, __int128 y, __int128 x, u32 c)
{
	__int128 sum = 0;

	for (u32 corner = 0; corner < 4; corner++) {
		s64 weight_y = (s64)(y % PIXEL / (PIXEL / 256));
		s64 weight_x = (s64)(x % PIXEL / (PIXEL / 256));

		if (corner < 2)
			weight_y = 256 - weight_y;
		if (corner % 2 == 0)
			weight_x = 256 - weight_x;
		if (weight_y && weight_x)
			sum += (__int128)weight_y * weight_x *
			       value(job, index, floor_of(y) + corner / 2,
				     floor_of(x) + corner % 2, c);
	}
	return reference_round(sum, 16);
}

s32 reference_resized(const struct random_job *job, u32 y, u32 x, u32 c)
{
	const struct overtake_insn *insn = &job->insn;
	__int128 row = position(insn->start_y, insn->step_y, y, insn->in[0].height);
	__int128 column = position(insn->start_x, insn->step_x, x, insn->in[0].width);

	if (insn->opcode == OVERTAKE_OP_RESIZE_NEAREST)
		return (s32)value(job, 0, floor_of(row), floor_of(column), c);
	return (s32)bilinear(job, 0, row, column, c);
}

/* Returns the nearest multiple of 2^-13, as its number of 2^-13. */
static s64 factor(long double exact)
{
	return (s64)roundl(exact * 8192);
}

static s64 to_byte(s64 sum)
{
	s64 rounded = (s64)floorl((long double)(sum + 4096) / 8192);

	return rounded < 0 ? 0 : rounded > 255 ? 255 : rounded;
}

/* Computes R, G, B from Y and the chroma differences: BT.601, Kr = 0.299, Kb = 0.114. */
static void convert(s64 *rgb, s64 y, s64 u, s64 v, bool full)
{
	const long double red = 0.299L, blue = 0.114L, green = 1 - red - blue;
	long double luma = full ? 1 : 255.0L / 219, chroma = full ? 1 : 255.0L / 224;
	s64 scaled = factor(luma) * (full ? y : y - 16);

	rgb[0] = to_byte(scaled + factor(2 * (1 - red) * chroma) * v);
	rgb[1] = to_byte(scaled - factor(2 * (1 - blue) * blue / green * chroma) * u -
			 factor(2 * (1 - red) * red / green * chroma) * v);
	rgb[2] = to_byte(scaled + factor(2 * (1 - blue) * chroma) * u);
}

/* Returns the position in the chroma plane of luma position @at. */
static __int128 chroma(__int128 at, u32 size)
{
	return cut((__int128)floorl((long double)at / 2) - PIXEL / 4, size);
}

s32 reference_colour(const struct random_job *job, u32 y, u32 x, u32 c)
{
	const struct overtake_insn *insn = &job->insn;
	__int128 row = position(insn->start_y, insn->step_y, y, insn->in[0].height);
	__int128 column = position(insn->start_x, insn->step_x, x, insn->in[0].width);
	bool nearest = insn->flags & OVERTAKE_FLAG_NEAREST;
	bool gray = insn->flags & OVERTAKE_FLAG_GRAY;
	bool full = insn->flags & OVERTAKE_FLAG_FULL_RANGE;
	s64 uv[2] = { 128, 128 }, luma, rgb[3];

	luma = nearest ? value(job, 0, floor_of(row), floor_of(column), 0) :
			 bilinear(job, 0, row, column, 0);
	for (u32 i = 0; i < 2 && !gray; i++)
		uv[i] = nearest ? value(job, 1, floor_of(row) / 2, floor_of(column) / 2, i) :
				  bilinear(job, 1, chroma(row, insn->in[1].height),
					   chroma(column, insn->in[1].width), i);
	/* Without chroma R, G and B are equal. */
	convert(rgb, luma, uv[0] - 128, uv[1] - 128, full);
	return reference_finish_channel(job, rgb[insn->flags & OVERTAKE_FLAG_BGR ? 2 - c : c], c);
}
