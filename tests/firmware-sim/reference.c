// SPDX-License-Identifier: MIT
#include "reference_parts.h"

#include <math.h>

s64 reference_round(__int128 numerator, u32 shift)
{
	__int128 denominator = (__int128)1 << shift;
	__int128 nearest = (numerator - denominator) / denominator;
	__int128 best = nearest;

	/* Tries the candidates around the quotient; the closest wins, the even one of two. */
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

s64 reference_input(const struct random_job *job, u32 index, s64 y, s64 x, u64 c)
{
	const struct overtake_operand *operand = &job->insn.in[index];
	const u8 *at = job->regions[operand->region].base + operand->offset;
	s16 wide;

	if (!inside(operand, y, x))
		return 0;
	at += (u64)y * operand->row_stride + (u64)x * operand->pixel_stride;
	if (operand->type == OVERTAKE_TYPE_INT8)
		return (s8)at[c] - operand->zero_point;
	wide = (s16)(at[2 * c] | (u32)at[2 * c + 1] << 8);
	return wide;
}

u32 reference_param(const struct random_job *job, u64 array, u64 length, u64 index)
{
	const u8 *bytes = job->regions[job->insn.params_region].base + job->insn.params_offset +
			  4 * (array * length + index);

	return bytes[0] | (u32)bytes[1] << 8 | (u32)bytes[2] << 16 | (u32)bytes[3] << 24;
}

s32 reference_finish(const struct random_job *job, s64 value)
{
	value += job->insn.out.zero_point;
	if (value > job->insn.clamp_max)
		value = job->insn.clamp_max;
	if (value < job->insn.clamp_min)
		value = job->insn.clamp_min;
	return (s32)value;
}

s32 reference_finish_channel(const struct random_job *job, s64 sum, u32 c)
{
	u64 length = (job->insn.out.channels + 7ull) & ~7ull;
	s32 bias = (s32)reference_param(job, 0, length, c);
	bool wide0 = job->insn.in[0].type, wide1 = job->insn.in[1].type;
	s64 acc = wide0 || wide1 ? bias + (wide0 && wide1 ? reference_round(sum, 8) : sum) :
				   wrap_32((__int128)sum + bias);

	return reference_finish(job, reference_round((__int128)acc * reference_param(job, 1, length, c),
					   reference_param(job, 2, length, c)));
}

/* Return the row and the column of in[0] under tap (ky, kx) of the window of output (y, x). */
static s64 tap_row(const struct overtake_insn *insn, u32 y, s64 ky)
{
	return (s64)y * insn->stride_height - insn->pad_top +
	       ky * (insn->dilation_height ? insn->dilation_height : 1);
}

static s64 tap_column(const struct overtake_insn *insn, u32 x, s64 kx)
{
	return (s64)x * insn->stride_width - insn->pad_left +
	       kx * (insn->dilation_width ? insn->dilation_width : 1);
}

/* Returns the number of positions of the window of output (y, x) that lie inside the input. */
static u32 positions_inside(const struct random_job *job, u32 y, u32 x)
{
	const struct overtake_insn *insn = &job->insn;
	u32 count = 0;

	for (s64 ky = 0; ky < insn->kernel_height; ky++)
		for (s64 kx = 0; kx < insn->kernel_width; kx++)
			count += inside(&insn->in[0], tap_row(insn, y, ky), tap_column(insn, x, kx));
	return count;
}

static s32 convolution(const struct random_job *job, u32 y, u32 x, u32 c, u32 groups)
{
	const struct overtake_insn *insn = &job->insn;
	u32 inputs = insn->in[0].channels / groups;
	u32 first = c / (insn->out.channels / groups) * inputs;
	const s8 *weight = job->dense + (u64)c * inputs * insn->kernel_height * insn->kernel_width;
	s64 sum = 0;

	for (u32 i = 0; i < inputs; i++)
		for (s64 ky = 0; ky < insn->kernel_height; ky++)
			for (s64 kx = 0; kx < insn->kernel_width; kx++)
				sum += reference_input(job, 0, tap_row(insn, y, ky),
						       tap_column(insn, x, kx), first + i) *
				       *weight++;
	return reference_finish_channel(job, sum, c);
}

/* Returns whether tap @k of input @from lands on output @to, on one axis of TRANSPOSED_CONV. */
static bool lands(u32 from, u32 k, u32 to, u32 stride, u32 dilation, u32 pad)
{
	return (s64)from * stride + (s64)k * (dilation ? dilation : 1) - pad == to;
}

/* Spreads every input over the outputs, and adds up the products that land on (y, x, c). */
static s32 transposed(const struct random_job *job, u32 y, u32 x, u32 c)
{
	const struct overtake_insn *insn = &job->insn;
	u32 inputs = insn->in[0].channels / insn->groups;
	u32 first = c / (insn->out.channels / insn->groups) * inputs;
	u32 taps = (u32)insn->kernel_height * insn->kernel_width;
	s64 sum = 0;

	for (u32 n = 0; n < insn->in[0].height * insn->in[0].width * taps; n++) {
		u32 iy = n / taps / insn->in[0].width, ix = n / taps % insn->in[0].width;
		u32 tap = n % taps;

		if (!lands(iy, tap / insn->kernel_width, y, insn->stride_height,
			   insn->dilation_height, insn->pad_top) ||
		    !lands(ix, tap % insn->kernel_width, x, insn->stride_width,
			   insn->dilation_width, insn->pad_left))
			continue;
		for (u32 i = 0; i < inputs; i++)
			sum += reference_input(job, 0, iy, ix, first + i) *
			       job->dense[((u64)c * inputs + i) * taps + tap];
	}
	return reference_finish_channel(job, sum, c);
}

static s32 product(const struct random_job *job, u32 y, u32 x, u32 c)
{
	s64 sum = 0;

	for (u32 k = 0; k < job->insn.in[0].channels; k++)
		sum += reference_input(job, 0, y, x, k) *
		       reference_input(job, 1, y % job->insn.in[1].height, c, k);
	return reference_finish_channel(job, sum, c);
}

static s32 maximum(const struct random_job *job, u32 y, u32 x, u32 c)
{
	const struct overtake_insn *insn = &job->insn;
	s64 greatest = -40000;

	for (s64 ky = 0; ky < insn->kernel_height; ky++)
		for (s64 kx = 0; kx < insn->kernel_width; kx++) {
			s64 row = tap_row(insn, y, ky), column = tap_column(insn, x, kx);

			if (inside(&insn->in[0], row, column) &&
			    reference_input(job, 0, row, column, c) > greatest)
				greatest = reference_input(job, 0, row, column, c);
		}
	return reference_finish(job, greatest);
}

/* Counts positions, but not those over @bottom rows below or @right columns right of the input. */
static u32 positions_up_to(const struct random_job *job, u32 y, u32 x, u32 bottom, u32 right)
{
	const struct overtake_insn *insn = &job->insn;
	u32 count = 0;

	for (s64 ky = 0; ky < insn->kernel_height; ky++)
		for (s64 kx = 0; kx < insn->kernel_width; kx++)
			count += tap_row(insn, y, ky) < (s64)insn->in[0].height + bottom &&
				 tap_column(insn, x, kx) < (s64)insn->in[0].width + right;
	return count;
}

static s32 average(const struct random_job *job, u32 y, u32 x, u32 c)
{
	const struct overtake_insn *insn = &job->insn;
	u32 kernel = (u32)insn->kernel_height * insn->kernel_width;
	u32 count = kernel;
	s64 sum = 0;

	if (!insn->flags)
		count = positions_inside(job, y, x);
	if (insn->flags & OVERTAKE_FLAG_CLIP_PAD)
		count = positions_up_to(job, y, x, insn->pad_bottom, insn->pad_right);
	for (s64 ky = 0; ky < insn->kernel_height; ky++)
		for (s64 kx = 0; kx < insn->kernel_width; kx++)
			sum += reference_input(job, 0, tap_row(insn, y, ky), tap_column(insn, x, kx),
					       c);
	return reference_finish(job, reference_round(
		(__int128)sum * reference_param(job, 0, kernel, count - 1),
		reference_param(job, 1, kernel, count - 1)));
}

/* Returns an element of one of two inputs, repeated along axes on which it has length 1. */
static __int128 repeated(const struct random_job *job, u32 index, u32 y, u32 x, u32 c)
{
	const struct overtake_operand *in = &job->insn.in[index];

	return reference_input(job, index, y % in->height, x % in->width, c % in->channels);
}

static s32 combined(const struct random_job *job, u32 y, u32 x, u32 c)
{
	const struct overtake_insn *insn = &job->insn;
	__int128 a = repeated(job, 0, y, x, c), b = repeated(job, 1, y, x, c);
	__int128 scaled_a = a * insn->multiplier[0], scaled_b = b * insn->multiplier[1], result;

	switch (insn->opcode) {
	case OVERTAKE_OP_ADD:
		result = scaled_a + scaled_b;
		break;
	case OVERTAKE_OP_SUB:
		result = scaled_a - scaled_b;
		break;
	case OVERTAKE_OP_MUL:
		result = scaled_a * b;
		break;
	case OVERTAKE_OP_MAX:
		result = scaled_a > scaled_b ? scaled_a : scaled_b;
		break;
	default:
		result = scaled_a < scaled_b ? scaled_a : scaled_b;
	}
	return reference_finish(job, reference_round(result, insn->shift[0]));
}

/* Goes through all input elements and uses those that belong to this output. */
static s32 reduced(const struct random_job *job, u32 y, u32 x, u32 c)
{
	const struct overtake_insn *insn = &job->insn;
	const struct overtake_operand *in = &insn->in[0];
	s64 least = 40000, greatest = -40000;
	__int128 sum = 0;

	for (u32 n = 0; n < in->height * in->width * in->channels; n++) {
		u32 iy = n / in->channels / in->width, ix = n / in->channels % in->width;
		u32 ic = n % in->channels;
		s64 value = reference_input(job, 0, iy, ix, ic);

		if ((!(insn->axes & 1) && iy != y) || (!(insn->axes & 2) && ix != x) ||
		    (!(insn->axes & 4) && ic != c))
			continue;
		sum += value;
		least = value < least ? value : least;
		greatest = value > greatest ? value : greatest;
	}
	if (insn->opcode == OVERTAKE_OP_REDUCE_MAX)
		return reference_finish(job, greatest);
	if (insn->opcode == OVERTAKE_OP_REDUCE_MIN)
		return reference_finish(job, least);
	return reference_finish(job, reference_round(sum * insn->multiplier[0], insn->shift[0]));
}

/* A float times 24 bits is exact in long double, and rintl() rounds half to even. */
static s32 quantised(const struct random_job *job, u32 y, u32 x, u32 c)
{
	const struct overtake_operand *in = &job->insn.in[0];
	const u8 *base = job->regions[in->region].base + in->offset;
	long double scaled;
	float value;

	memcpy(&value, base + (u64)y * in->row_stride + (u64)x * in->pixel_stride + 4 * c, 4);
	if (isinf(value))
		return reference_finish(job, value > 0 ? 40000 : -40000);
	if (isnan(value))
		return reference_finish(job, 0);
	scaled = rintl(ldexpl((long double)value * job->insn.multiplier[0],
			      -(int)job->insn.shift[0]));
	return reference_finish(job, scaled > 40000 ? 40000 : scaled < -40000 ? -40000 : (s64)scaled);
}

u32 reference_element_bytes(const struct random_job *job)
{
	return job->insn.opcode == OVERTAKE_OP_DEQUANTISE ? 4 : job->insn.out.type ? 2 : 1;
}

/* Returns the index of a table's entry: the bits of the input as a number without sign. */
static u32 table_index(const struct random_job *job, u32 y, u32 x, u32 c)
{
	s64 element = reference_input(job, 0, y, x, c) + job->insn.in[0].zero_point;

	return (u32)element & (job->insn.in[0].type ? 0xffff : 0xff);
}

static s32 looked_up(const struct random_job *job, u32 y, u32 x, u32 c)
{
	const u8 *table = (const u8 *)job->dense;
	u32 index = table_index(job, y, x, c);

	if (!job->insn.out.type)
		return (s8)table[index];
	return (s16)(table[2 * index] | (u32)table[2 * index + 1] << 8);
}

/* Products of 15 and 24 bits are exact in long double, and conversion rounds half to even. */
static void dequantised(const struct random_job *job, u32 y, u32 x, u32 c, u8 *bytes)
{
	long double exact = (long double)reference_input(job, 0, y, x, c) * job->insn.multiplier[0];
	float nearest = (float)ldexpl(exact, -(int)job->insn.shift[0]);

	memcpy(bytes, &nearest, sizeof(nearest));
}

static s32 reference_integer(const struct random_job *job, u32 y, u32 x, u32 c)
{
	const struct overtake_insn *insn = &job->insn;

	switch (insn->opcode) {
	case OVERTAKE_OP_CONV:
		return convolution(job, y, x, c, insn->groups);
	case OVERTAKE_OP_TRANSPOSED_CONV:
		return transposed(job, y, x, c);
	case OVERTAKE_OP_DEPTHWISE:
		return convolution(job, y, x, c, insn->out.channels);
	case OVERTAKE_OP_MATMUL:
		return product(job, y, x, c);
	case OVERTAKE_OP_ADD:
	case OVERTAKE_OP_SUB:
	case OVERTAKE_OP_MUL:
	case OVERTAKE_OP_MAX:
	case OVERTAKE_OP_MIN:
		return combined(job, y, x, c);
	case OVERTAKE_OP_MAX_POOL:
		return maximum(job, y, x, c);
	case OVERTAKE_OP_AVERAGE_POOL:
		return average(job, y, x, c);
	case OVERTAKE_OP_REDUCE_SUM:
	case OVERTAKE_OP_REDUCE_MAX:
	case OVERTAKE_OP_REDUCE_MIN:
		return reduced(job, y, x, c);
	case OVERTAKE_OP_TABLE:
		return looked_up(job, y, x, c);
	case OVERTAKE_OP_REQUANTISE:
		return reference_finish(job, reference_round(
			(__int128)reference_input(job, 0, y, x, c) * insn->multiplier[0],
			insn->shift[0]));
	case OVERTAKE_OP_QUANTISE:
		return quantised(job, y, x, c);
	case OVERTAKE_OP_RESIZE_NEAREST:
	case OVERTAKE_OP_RESIZE_BILINEAR:
		return reference_resized(job, y, x, c);
	case OVERTAKE_OP_NV12:
		return reference_colour(job, y, x, c);
	default:
		return reference_moved(job, y, x, c);
	}
}

void reference_element(const struct random_job *job, u32 y, u32 x, u32 c, u8 *bytes)
{
	s32 value;

	if (job->insn.opcode == OVERTAKE_OP_DEQUANTISE && job->insn.in[0].type) {
		dequantised(job, y, x, c, bytes);
	} else if (job->insn.opcode == OVERTAKE_OP_DEQUANTISE) {
		memcpy(bytes, job->dense + 4 * table_index(job, y, x, c), 4);
	} else {
		value = reference_integer(job, y, x, c);
		bytes[0] = (u8)value;
		if (job->insn.out.type)
			bytes[1] = (u8)((u32)value >> 8);
	}
}
