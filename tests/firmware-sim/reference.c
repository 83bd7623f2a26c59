// SPDX-License-Identifier: MIT
#include "reference.h"

s64 reference_round(__int128 numerator, u32 shift)
{
	__int128 denominator = (__int128)1 << shift;
	__int128 nearest = (numerator - denominator) / denominator;
	__int128 best = nearest;

	/* The candidates around the quotient; the closest wins, of two the even one. */
	for (int i = 0; i < 4; i++, nearest++) {
		__int128 distance = nearest * denominator - numerator;
		__int128 best_distance = best * denominator - numerator;

		distance = distance < 0 ? -distance : distance;
		best_distance = best_distance < 0 ? -best_distance : best_distance;
		if (distance < best_distance || (distance == best_distance && nearest % 2 == 0))
			best = nearest;
	}
	return (s64)best;
}

static s64 wrap_32(__int128 value)
{
	value %= (__int128)1 << 32;
	if (value < 0)
		value += (__int128)1 << 32;
	return value >= (__int128)1 << 31 ? (s64)(value - ((__int128)1 << 32)) : (s64)value;
}

static bool inside(const struct overtake_operand *operand, s64 y, s64 x)
{
	return y >= 0 && x >= 0 && y < operand->height && x < operand->width;
}

/* in[index] minus its zero point; 0 outside. */
static s64 input(const struct random_job *job, u32 index, s64 y, s64 x, u64 c)
{
	const struct overtake_operand *operand = &job->insn.in[index];
	const s8 *base = (const s8 *)job->regions[operand->region].base;

	if (!inside(operand, y, x))
		return 0;
	return base[operand->offset + (u64)y * operand->row_stride +
		    (u64)x * operand->pixel_stride + c] - operand->zero_point;
}

static u32 param(const struct random_job *job, u64 array, u64 length, u64 index)
{
	const u8 *bytes = job->regions[job->insn.params_region].base + job->insn.params_offset +
			  4 * (array * length + index);

	return bytes[0] | (u32)bytes[1] << 8 | (u32)bytes[2] << 16 | (u32)bytes[3] << 24;
}

static s8 finish(const struct random_job *job, s64 value)
{
	value += job->insn.out.zero_point;
	if (value > job->insn.clamp_max)
		value = job->insn.clamp_max;
	if (value < job->insn.clamp_min)
		value = job->insn.clamp_min;
	return (s8)value;
}

static s8 finish_channel(const struct random_job *job, s64 sum, u32 c)
{
	u64 length = (job->insn.out.channels + 7ull) & ~7ull;
	s64 acc = wrap_32((__int128)sum + (s32)param(job, 0, length, c));

	return finish(job, reference_round((__int128)acc * param(job, 1, length, c),
					   param(job, 2, length, c)));
}

/* Window positions that lie inside the input, for output (y, x). */
static u32 positions_inside(const struct random_job *job, u32 y, u32 x)
{
	const struct overtake_insn *insn = &job->insn;
	u32 count = 0;

	for (s64 ky = 0; ky < insn->kernel_height; ky++)
		for (s64 kx = 0; kx < insn->kernel_width; kx++)
			count += inside(&insn->in[0], (s64)y * insn->stride_height - insn->pad_top + ky,
					(s64)x * insn->stride_width - insn->pad_left + kx);
	return count;
}

static s8 convolution(const struct random_job *job, u32 y, u32 x, u32 c, u32 groups)
{
	const struct overtake_insn *insn = &job->insn;
	u32 inputs = insn->in[0].channels / groups;
	u32 first = c / (insn->out.channels / groups) * inputs;
	const s8 *weight = job->dense + (u64)c * inputs * insn->kernel_height * insn->kernel_width;
	s64 sum = 0;

	for (u32 i = 0; i < inputs; i++)
		for (s64 ky = 0; ky < insn->kernel_height; ky++)
			for (s64 kx = 0; kx < insn->kernel_width; kx++)
				sum += input(job, 0, (s64)y * insn->stride_height - insn->pad_top + ky,
					     (s64)x * insn->stride_width - insn->pad_left + kx,
					     first + i) * *weight++;
	return finish_channel(job, sum, c);
}

static s8 product(const struct random_job *job, u32 y, u32 x, u32 c)
{
	s64 sum = 0;

	for (u32 k = 0; k < job->insn.in[0].channels; k++)
		sum += input(job, 0, y, x, k) * input(job, 1, 0, c, k);
	return finish_channel(job, sum, c);
}

static s8 maximum(const struct random_job *job, u32 y, u32 x, u32 c)
{
	const struct overtake_insn *insn = &job->insn;
	s64 greatest = -1000;

	for (s64 iy = 0; iy < insn->in[0].height; iy++) {
		s64 ky = iy + insn->pad_top - (s64)y * insn->stride_height;

		for (s64 ix = 0; ix < insn->in[0].width; ix++) {
			s64 kx = ix + insn->pad_left - (s64)x * insn->stride_width;
			s64 value = input(job, 0, iy, ix, c);

			if (ky >= 0 && ky < insn->kernel_height && kx >= 0 &&
			    kx < insn->kernel_width && value > greatest)
				greatest = value;
		}
	}
	return finish(job, greatest);
}

static s8 average(const struct random_job *job, u32 y, u32 x, u32 c)
{
	const struct overtake_insn *insn = &job->insn;
	u32 kernel = (u32)insn->kernel_height * insn->kernel_width;
	u32 count = insn->flags & OVERTAKE_FLAG_COUNT_INCLUDE_PAD ? kernel :
								   positions_inside(job, y, x);
	s64 sum = 0;

	for (s64 ky = 0; ky < insn->kernel_height; ky++)
		for (s64 kx = 0; kx < insn->kernel_width; kx++)
			sum += input(job, 0, (s64)y * insn->stride_height - insn->pad_top + ky,
				     (s64)x * insn->stride_width - insn->pad_left + kx, c);
	return finish(job, reference_round((__int128)sum * param(job, 0, kernel, count - 1),
					   param(job, 1, kernel, count - 1)));
}

s8 reference_element(const struct random_job *job, u32 y, u32 x, u32 c)
{
	const struct overtake_insn *insn = &job->insn;

	switch (insn->opcode) {
	case OVERTAKE_OP_CONV:
		return convolution(job, y, x, c, insn->groups);
	case OVERTAKE_OP_DEPTHWISE:
		return convolution(job, y, x, c, insn->out.channels);
	case OVERTAKE_OP_MATMUL:
		return product(job, y, x, c);
	case OVERTAKE_OP_ADD:
		return finish(job, reference_round(
			(__int128)input(job, 0, y, x, c) * insn->multiplier[0] +
			(__int128)input(job, 1, y, x, c) * insn->multiplier[1], insn->shift[0]));
	case OVERTAKE_OP_MAX_POOL:
		return maximum(job, y, x, c);
	case OVERTAKE_OP_AVERAGE_POOL:
		return average(job, y, x, c);
	case OVERTAKE_OP_TABLE:
		return job->dense[(input(job, 0, y, x, c) + insn->in[0].zero_point) & 255];
	default:
		return (s8)(input(job, 0, y, x, c) + insn->in[0].zero_point);
	}
}

u64 reference_work(const struct random_job *job)
{
	const struct overtake_insn *insn = &job->insn;
	u64 work = 0;

	for (u32 y = 0; y < insn->out.height; y++) {
		for (u32 x = 0; x < insn->out.width; x++) {
			u64 each = 1;

			if (insn->kernel_height)
				each = positions_inside(job, y, x);
			if (insn->opcode == OVERTAKE_OP_CONV)
				each *= insn->in[0].channels / insn->groups;
			if (insn->opcode == OVERTAKE_OP_MATMUL)
				each = insn->in[0].channels;
			work += each * insn->out.channels;
		}
	}
	return work;
}
