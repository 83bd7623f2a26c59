// SPDX-License-Identifier: MIT
/* COPY, PAD, PERMUTE, DEPTH_TO_SPACE, SPACE_TO_DEPTH: where an output element comes from. */
#include "reference_parts.h"

static s32 element(const struct random_job *job, s64 y, s64 x, u64 c)
{
	return (s32)(reference_input(job, 0, y, x, c) + job->insn.in[0].zero_point);
}

/* Walks from 0 to @from, step by step; a step off an edge turns round (@reflect) or stays. */
static s64 walk(s64 from, s64 size, bool reflect)
{
	s64 distance = from < 0 ? -from : from;
	s64 place = 0, direction = from < 0 ? -1 : 1;

	for (; distance; distance--) {
		if (place + direction >= 0 && place + direction < size)
			place += direction;
		else if (reflect) {
			direction = -direction;
			place += direction;
		}
	}
	return place;
}

static s32 padded(const struct random_job *job, u32 y, u32 x, u32 c)
{
	const struct overtake_insn *insn = &job->insn;
	bool reflect = insn->flags == OVERTAKE_FLAG_REFLECT;
	s64 row = (s64)y - insn->pad_top, column = (s64)x - insn->pad_left;

	if (insn->flags)
		return element(job, walk(row, insn->in[0].height, reflect),
			       walk(column, insn->in[0].width, reflect), c);
	if (row < 0 || column < 0 || row >= insn->in[0].height || column >= insn->in[0].width)
		return (s32)insn->fill;
	return element(job, row, column, c);
}

static s32 permuted(const struct random_job *job, u32 y, u32 x, u32 c)
{
	u32 place[3], axes = job->insn.axes;

	place[axes % 4] = y;
	place[axes / 4 % 4] = x;
	place[axes / 16] = c;
	return element(job, place[0], place[1], place[2]);
}

/* Returns the number with these digits in these radices, most significant first. */
static u64 number(const u32 *digits, const u32 *radices)
{
	u64 value = 0;

	for (u32 i = 0; i < 3; i++)
		value = value * radices[i] + digits[i];
	return value;
}

static s32 to_space(const struct random_job *job, u32 y, u32 x, u32 c)
{
	const struct overtake_insn *insn = &job->insn;
	u32 block = insn->kernel_height, outputs = insn->out.channels;
	u32 row = y % block, column = x % block;
	u64 dcr = number((u32[]){ row, column, c }, (u32[]){ block, block, outputs });
	u64 crd = number((u32[]){ c, row, column }, (u32[]){ outputs, block, block });

	return element(job, y / block, x / block, insn->flags & OVERTAKE_FLAG_CRD ? crd : dcr);
}

/* Tries every pixel of the block until one has channel @c. */
static s32 to_depth(const struct random_job *job, u32 y, u32 x, u32 c)
{
	u32 block = job->insn.kernel_height, inputs = job->insn.in[0].channels;
	u32 first = 0;

	for (u32 row = 0; row < block; row++)
		for (u32 column = 0; column < block; column++, first += inputs)
			if (c >= first && c - first < inputs)
				return element(job, y * block + row, x * block + column, c - first);
	return 0;
}

s32 reference_moved(const struct random_job *job, u32 y, u32 x, u32 c)
{
	switch (job->insn.opcode) {
	case OVERTAKE_OP_PAD:
		return padded(job, y, x, c);
	case OVERTAKE_OP_PERMUTE:
		return permuted(job, y, x, c);
	case OVERTAKE_OP_DEPTH_TO_SPACE:
		return to_space(job, y, x, c);
	case OVERTAKE_OP_SPACE_TO_DEPTH:
		return to_depth(job, y, x, c);
	default:
		return element(job, y, x, c);
	}
}
