// SPDX-License-Identifier: MIT
/* The work that operators count for their time, computed again. */
#include "hw/operators.h"
#include "reference.h"

static bool is_windowed(u16 opcode)
{
	return opcode == OVERTAKE_OP_CONV || opcode == OVERTAKE_OP_DEPTHWISE ||
	       opcode == OVERTAKE_OP_MAX_POOL || opcode == OVERTAKE_OP_AVERAGE_POOL;
}

/* Returns the greatest number of channels of a unit. */
static u32 longest_run(const struct overtake_insn *insn)
{
	switch (insn->opcode) {
	case OVERTAKE_OP_TABLE:
		return insn->in[0].type ? 512 : 4096;
	case OVERTAKE_OP_CONV:
	case OVERTAKE_OP_TRANSPOSED_CONV:
	case OVERTAKE_OP_DEPTHWISE:
	case OVERTAKE_OP_MATMUL:
	case OVERTAKE_OP_MAX_POOL:
	case OVERTAKE_OP_AVERAGE_POOL:
	case OVERTAKE_OP_REDUCE_SUM:
	case OVERTAKE_OP_REDUCE_MAX:
	case OVERTAKE_OP_REDUCE_MIN:
	case OVERTAKE_OP_NV12:
		return 8;
	case OVERTAKE_OP_PERMUTE:
	case OVERTAKE_OP_DEPTH_TO_SPACE:
	case OVERTAKE_OP_SPACE_TO_DEPTH:
		return 512;
	case OVERTAKE_OP_QUANTISE:
	case OVERTAKE_OP_DEQUANTISE:
		return 1024;
	default:
		return 4096;
	}
}

/* Returns the number of taps of one axis that meet the input. */
static u32 taps(const struct overtake_insn *insn, bool rows, u32 output)
{
	u32 kernel = rows ? insn->kernel_height : insn->kernel_width;
	s64 stride = rows ? insn->stride_height : insn->stride_width;
	s64 dilation = rows ? insn->dilation_height : insn->dilation_width;
	s64 pad = rows ? insn->pad_top : insn->pad_left;
	s64 inputs = rows ? insn->in[0].height : insn->in[0].width;
	u32 count = 0;

	dilation = dilation ? dilation : 1;
	for (s64 k = 0; k < kernel; k++) {
		s64 at = output * stride - pad + k * dilation;
		s64 from = output + pad - k * dilation;

		if (is_windowed(insn->opcode))
			count += at >= 0 && at < inputs;
		else
			count += from >= 0 && from % stride == 0 && from / stride < inputs;
	}
	return count;
}

/* Returns the pixels of a block from which the @count output channels from @first on come. */
static u32 block_pixels(const struct overtake_insn *insn, u32 first, u32 count)
{
	return (first + count - 1) / insn->in[0].channels - first / insn->in[0].channels + 1;
}

/* Returns the work of reading @count elements; 16 each if a cache line or more apart. */
static u64 gathered_work(u64 step, u32 count)
{
	return step >= 64 ? 16ull * count : count;
}

/* Returns the bytes between the elements of in[0] for successive channels of the output. */
static u64 gathered_step(const struct overtake_insn *insn)
{
	u64 element = insn->in[0].type ? 2 : 1;

	if (insn->opcode == OVERTAKE_OP_DEPTH_TO_SPACE)
		return insn->flags & OVERTAKE_FLAG_CRD ?
		       element * insn->kernel_height * insn->kernel_height : element;
	switch (insn->axes >> 4 & 3) {
	case 0:
		return insn->in[0].row_stride;
	case 1:
		return insn->in[0].pixel_stride;
	default:
		return element;
	}
}

static u64 at_least(u64 work, u64 least)
{
	return work < least ? least : work;
}

static u64 at_most(u64 work, u64 most)
{
	return work < most ? work : most;
}

/* Returns the work of adding up @outer times @inner elements, @each for one, in parts of 4096. */
static u64 parts_work(u64 outer, u64 inner, u64 each, u64 least, u64 fixed)
{
	u64 term = at_least(at_most(inner, 512) * each, least);
	u64 terms = outer * ((inner + 511) / 512);
	u64 at_once = at_least(4096 / term, 1), work = 0;

	do {
		u64 part = at_most(terms, at_once);

		work += at_least(fixed + part * term, OVT_UNIT_WORK_MIN);
		terms -= part;
	} while (terms);
	return work;
}

static u64 unit_work(const struct overtake_insn *insn, u32 y, u32 x, u32 c, u32 count)
{
	u64 positions = 1, elements;

	if (insn->stride_height)
		positions = (u64)taps(insn, true, y) * taps(insn, false, x);

	switch (insn->opcode) {
	case OVERTAKE_OP_TRANSPOSED_CONV:
		return parts_work(positions, insn->in[0].channels / insn->groups, 8, 8, 128);
	case OVERTAKE_OP_CONV:
		return parts_work(positions, insn->in[0].channels / insn->groups, 8, 8, 0);
	case OVERTAKE_OP_DEPTHWISE:
	case OVERTAKE_OP_MAX_POOL:
	case OVERTAKE_OP_AVERAGE_POOL:
		return parts_work(positions, 1, 8, 8, 0);
	case OVERTAKE_OP_MATMUL:
		return parts_work((u64)insn->in[0].channels * count, 1, 1, 1, 0);
	case OVERTAKE_OP_REDUCE_SUM:
	case OVERTAKE_OP_REDUCE_MAX:
	case OVERTAKE_OP_REDUCE_MIN:
		elements = insn->axes & 4 ? insn->in[0].channels : count;
		positions = (insn->axes & 1 ? insn->in[0].height : 1) *
			    (insn->axes & 2 ? insn->in[0].width : 1);
		return parts_work(positions, elements, 1, 8, 0);
	case OVERTAKE_OP_ADD:
	case OVERTAKE_OP_SUB:
	case OVERTAKE_OP_MUL:
	case OVERTAKE_OP_MAX:
	case OVERTAKE_OP_MIN:
	case OVERTAKE_OP_REQUANTISE:
	case OVERTAKE_OP_RESIZE_BILINEAR:
		return 4ull * count;
	case OVERTAKE_OP_QUANTISE:
		return 16ull * count;
	case OVERTAKE_OP_TABLE:
	case OVERTAKE_OP_DEQUANTISE:
		return insn->in[0].type ? 16ull * count : count;
	case OVERTAKE_OP_SPACE_TO_DEPTH:
		return count + 8ull * block_pixels(insn, c, count);
	case OVERTAKE_OP_PERMUTE:
	case OVERTAKE_OP_DEPTH_TO_SPACE:
		return gathered_work(gathered_step(insn), count);
	case OVERTAKE_OP_NV12:
		return 64;
	default:
		return count;
	}
}

u64 reference_work(const struct random_job *job)
{
	const struct overtake_insn *insn = &job->insn;
	u32 group = insn->groups ? insn->out.channels / insn->groups : insn->out.channels;
	u32 run = longest_run(insn);
	u64 work = 0;

	for (u32 y = 0; y < insn->out.height; y++)
		for (u32 x = 0; x < insn->out.width; x++)
			for (u32 c = 0, count; c < insn->out.channels; c += count) {
				count = group - c % group < run ? group - c % group : run;
				work += at_least(unit_work(insn, y, x, c, count), OVT_UNIT_WORK_MIN);
			}
	return work;
}
