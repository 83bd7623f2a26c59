// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* COPY, PAD, PERMUTE, DEPTH_TO_SPACE and SPACE_TO_DEPTH: elements that change only their place. */
#include "hw/operator_units.h"

#define RUN_WORK	8	/* for going to the next pixel of a block */
/* Distance in bytes from which on elements are in different cache lines, perhaps pages. */
#define FAR_STEP	64
#define FAR_WORK	16

s64 ovt_unit_copy(const struct overtake_insn *insn, const struct ovt_operands *operands,
		  struct ovt_cursor *at, u32 count)
{
	/* A client may let input and output overlap. */
	memmove(ovt_output_at(insn, operands, at),
		ovt_input_at(insn, operands, 0, at->y, at->x, at->c),
		count * ovt_element_bytes(&insn->out));
	return count;
}

/* Finds the row or column of the @inputs for @output; returns false if @output is to be filled. */
static bool padded_source(u32 flags, u32 output, u32 before, u32 inputs, u32 *source)
{
	s64 position = (s64)output - before;
	s64 last = (s64)inputs - 1;

	if (position >= 0 && position <= last)
		*source = (u32)position;
	else if (flags & OVERTAKE_FLAG_EDGE)
		*source = position < 0 ? 0 : (u32)last;
	else if (flags & OVERTAKE_FLAG_REFLECT)
		*source = (u32)(position < 0 ? -position : 2 * last - position);
	else
		return false;
	return true;
}

s64 ovt_unit_pad(const struct overtake_insn *insn, const struct ovt_operands *operands,
		 struct ovt_cursor *at, u32 count)
{
	s8 *out = ovt_output_at(insn, operands, at);
	u32 y, x, i;

	if (padded_source(insn->flags, at->y, insn->pad_top, insn->in[0].height, &y) &&
	    padded_source(insn->flags, at->x, insn->pad_left, insn->in[0].width, &x))
		memmove(out, ovt_input_at(insn, operands, 0, y, x, at->c),
			count * ovt_element_bytes(&insn->out));
	else if (insn->out.type)
		for (i = 0; i < count; i++)
			ovt_store(out, OVERTAKE_TYPE_INT16, i, insn->fill);
	else
		memset(out, insn->fill, count);
	return count;
}

/* Gathers elements of type @type that are @step bytes apart.  Returns the work. */
static s64 gather(s8 *out, const s8 *in, u32 type, u64 step, u32 count)
{
	u32 i;

	if (type)
		for (i = 0; i < count; i++, in += step)
			ovt_store(out, OVERTAKE_TYPE_INT16, i,
				  ovt_load(in, OVERTAKE_TYPE_INT16, 0));
	else
		for (i = 0; i < count; i++, in += step)
			out[i] = *in;
	return step < FAR_STEP ? count : (s64)FAR_WORK * count;
}

s64 ovt_unit_permute(const struct overtake_insn *insn, const struct ovt_operands *operands,
		     struct ovt_cursor *at, u32 count)
{
	/* Two bits of @axes choose one of four strides, so each value is in bounds. */
	const u32 strides[4] = { insn->in[0].row_stride, insn->in[0].pixel_stride,
				 ovt_element_bytes(&insn->in[0]), 0 };
	u64 step = strides[insn->axes >> 4 & 3];
	u64 offset = at->y * (u64)strides[insn->axes & 3] +
		     at->x * (u64)strides[insn->axes >> 2 & 3] + at->c * step;

	return gather(ovt_output_at(insn, operands, at), (const s8 *)operands->in[0] + offset,
		      insn->out.type, step, count);
}

s64 ovt_unit_depth_to_space(const struct overtake_insn *insn, const struct ovt_operands *operands,
			    struct ovt_cursor *at, u32 count)
{
	u32 block = insn->kernel_height;
	u32 place = at->y % block * block + at->x % block;
	bool crd = insn->flags & OVERTAKE_FLAG_CRD;
	u32 channel = crd ? at->c * block * block + place : place * insn->out.channels + at->c;

	return gather(ovt_output_at(insn, operands, at),
		      ovt_input_at(insn, operands, 0, at->y / block, at->x / block, channel),
		      insn->out.type,
		      (crd ? (u64)block * block : 1) * ovt_element_bytes(&insn->out), count);
}

s64 ovt_unit_space_to_depth(const struct overtake_insn *insn, const struct ovt_operands *operands,
			    struct ovt_cursor *at, u32 count)
{
	u32 block = insn->kernel_height;
	u32 inputs = insn->in[0].channels, bytes = ovt_element_bytes(&insn->out);
	s8 *out = ovt_output_at(insn, operands, at);
	u32 channel = at->c, left = count, runs = 0;

	/* Each turn of the loop moves a run of channels of one pixel of the block. */
	for (; left; runs++) {
		u32 place = channel / inputs, first = channel % inputs;
		u32 run = inputs - first < left ? inputs - first : left;

		memmove(out, ovt_input_at(insn, operands, 0, at->y * block + place / block,
					  at->x * block + place % block, first), run * bytes);
		out += run * bytes;
		channel += run;
		left -= run;
	}
	return count + (s64)RUN_WORK * runs;
}
