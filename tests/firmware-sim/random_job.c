// SPDX-License-Identifier: MIT
#include "random_parts.h"

#include <stdlib.h>

u64 random_next(u64 *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 2685821657736338717ull;
}

u32 random_between(u64 *state, u32 least, u32 greatest)
{
	return least + (u32)((random_next(state) >> 32) % ((u64)greatest - least + 1));
}

static u32 round_up_8(u32 value)
{
	return (value + 7) & ~7u;
}

static void fill_random(u8 *bytes, u64 size, u64 *state)
{
	for (u64 i = 0; i < size; i++)
		bytes[i] = (u8)(random_next(state) >> 40);
}

void random_bind(struct random_job *job, u32 region, u64 size, u32 flags, u64 *state)
{
	job->regions[region].base = malloc(size);
	if (!job->regions[region].base)
		abort();
	job->regions[region].length = size;
	job->regions[region].flags = flags;
	fill_random(job->regions[region].base, size, state);
}

bool random_job_is_exact(u16 opcode)
{
	switch (opcode) {
	case OVERTAKE_OP_COPY:
	case OVERTAKE_OP_PAD:
	case OVERTAKE_OP_PERMUTE:
	case OVERTAKE_OP_DEPTH_TO_SPACE:
	case OVERTAKE_OP_SPACE_TO_DEPTH:
	case OVERTAKE_OP_REDUCE_SUM:
	case OVERTAKE_OP_REDUCE_MAX:
	case OVERTAKE_OP_REDUCE_MIN:
	case OVERTAKE_OP_QUANTISE:
	case OVERTAKE_OP_DEQUANTISE:
	case OVERTAKE_OP_NV12:
		return true;
	default:
		return false;
	}
}

/* Returns the bytes of an element.  Strides are multiples of this number. */
static u32 element_size(u16 opcode, const struct overtake_operand *operand, bool output)
{
	if (opcode == (output ? OVERTAKE_OP_DEQUANTISE : OVERTAKE_OP_QUANTISE))
		return 4;
	return operand->type ? 2 : 1;
}

/* Returns whether in[0] and out have one type: @opcode moves elements or chooses among them. */
static bool keeps_type(u16 opcode)
{
	switch (opcode) {
	case OVERTAKE_OP_COPY:
	case OVERTAKE_OP_PAD:
	case OVERTAKE_OP_PERMUTE:
	case OVERTAKE_OP_DEPTH_TO_SPACE:
	case OVERTAKE_OP_SPACE_TO_DEPTH:
	case OVERTAKE_OP_RESIZE_NEAREST:
	case OVERTAKE_OP_RESIZE_BILINEAR:
	case OVERTAKE_OP_MAX_POOL:
	case OVERTAKE_OP_REDUCE_MAX:
	case OVERTAKE_OP_REDUCE_MIN:
		return true;
	default:
		return false;
	}
}

static bool has_two_tensors(u16 opcode)
{
	switch (opcode) {
	case OVERTAKE_OP_MATMUL:
	case OVERTAKE_OP_ADD:
	case OVERTAKE_OP_SUB:
	case OVERTAKE_OP_MUL:
	case OVERTAKE_OP_MAX:
	case OVERTAKE_OP_MIN:
		return true;
	default:
		return false;
	}
}

/* Leaves all types at bytes half of the time, else chooses any valid combination. */
static void random_types(struct overtake_insn *insn, u64 *state)
{
	if (insn->opcode == OVERTAKE_OP_NV12 || insn->opcode == OVERTAKE_OP_DELAY ||
	    insn->opcode == OVERTAKE_OP_JUMP || random_between(state, 0, 1))
		return;
	if (insn->opcode != OVERTAKE_OP_DEQUANTISE)
		insn->out.type = random_between(state, 0, 1);
	if (insn->opcode != OVERTAKE_OP_QUANTISE)
		insn->in[0].type = keeps_type(insn->opcode) ? insn->out.type :
							      random_between(state, 0, 1);
	if (has_two_tensors(insn->opcode))
		insn->in[1].type = random_between(state, 0, 1);
}

static void place(struct random_job *job, struct overtake_operand *operand, u32 region, u32 flags,
		  u64 *state)
{
	bool output = operand == &job->insn.out;
	bool plane = job->insn.opcode == OVERTAKE_OP_NV12 && !output;
	u32 element = element_size(job->insn.opcode, operand, output);
	u32 pixel = operand->channels * element;
	u32 end = random_job_is_exact(job->insn.opcode) ? pixel :
							  round_up_8(operand->channels) * element;

	operand->region = region;
	operand->offset = random_between(state, 0, 3) ? 8 * random_between(state, 0, 2)
						      : random_between(state, 0, 20);
	operand->zero_point = element > 1 || plane ? 0 : (s32)random_between(state, 0, 255) - 128;
	if (element == 4)
		operand->pixel_stride = pixel + 4 * random_between(state, 0, 2);
	else if (plane)
		operand->pixel_stride = pixel;
	else
		operand->pixel_stride = round_up_8(pixel) + 8 * random_between(state, 0, 1);
	operand->row_stride = operand->width * operand->pixel_stride +
			      random_between(state, 0, 1) * random_between(state, 0, 24);
	operand->offset -= operand->offset % element;
	operand->row_stride -= operand->row_stride % element;
	random_bind(job, region,
		    operand->offset + (u64)(operand->height - 1) * operand->row_stride +
			    (u64)(operand->width - 1) * operand->pixel_stride + end,
		    flags, state);
}

static void set_shape(struct overtake_operand *operand, u32 height, u32 width, u32 channels)
{
	operand->height = height;
	operand->width = width;
	operand->channels = channels;
}

void random_output(struct random_job *job, u32 height, u32 width, u32 channels, u64 *state)
{
	set_shape(&job->insn.out, height, width, channels);
	place(job, &job->insn.out, JOB_OUT, OVT_REGION_READ | OVT_REGION_WRITE, state);
}

void random_input(struct random_job *job, u32 index, u32 height, u32 width, u32 channels,
		  u64 *state)
{
	set_shape(&job->insn.in[index], height, width, channels);
	place(job, &job->insn.in[index], index ? JOB_IN1 : JOB_IN0, OVT_REGION_READ, state);
}

u8 *random_weights(struct random_job *job, u64 dense_bytes, u64 packed_bytes, u64 *state)
{
	u8 *packed;

	job->dense = malloc(dense_bytes);
	if (!job->dense)
		abort();
	fill_random((u8 *)job->dense, dense_bytes, state);
	job->insn.weights_region = JOB_WEIGHTS;
	job->insn.weights_offset = random_between(state, 0, 9);
	if (job->insn.opcode == OVERTAKE_OP_DEQUANTISE)
		job->insn.weights_offset &= ~3ull;
	random_bind(job, JOB_WEIGHTS, job->insn.weights_offset + packed_bytes, OVT_REGION_READ, state);
	packed = job->regions[JOB_WEIGHTS].base + job->insn.weights_offset;
	memset(packed, 0, packed_bytes);
	return packed;
}

u32 *random_params(struct random_job *job, u64 words, u64 *state)
{
	job->insn.params_region = JOB_PARAMS;
	job->insn.params_offset = 4 * random_between(state, 0, 3);
	random_bind(job, JOB_PARAMS, job->insn.params_offset + 4 * words, OVT_REGION_READ, state);
	return (u32 *)(job->regions[JOB_PARAMS].base + job->insn.params_offset);
}

void random_scale(u32 *multiplier, u32 *shift, u32 magnitude, u64 *state)
{
	u32 bits = 0;

	while (magnitude >> bits)
		bits++;
	switch (random_between(state, 0, 7)) {
	case 0:	/* any valid scale */
		*multiplier = random_between(state, 0, OVERTAKE_MULTIPLIER_MAX);
		*shift = random_between(state, OVERTAKE_SHIFT_MIN, OVERTAKE_SHIFT_MAX);
		break;
	case 1:	/* powers of two make ties */
		*multiplier = 1;
		*shift = random_between(state, 1, bits);
		break;
	default:
		*multiplier = random_between(state, 1u << 22, OVERTAKE_MULTIPLIER_MAX);
		*shift = 16 + bits + random_between(state, 0, 2);
	}
}

void random_scale_to(const struct random_job *job, u32 *multiplier, u32 *shift, u32 factor,
		     u32 terms, u64 *state)
{
	bool wide0 = job->insn.in[0].type, wide1 = job->insn.in[1].type;

	/* An input of 16 bits makes values 2^8 times as large; for a second the device divides. */
	random_scale(multiplier, shift, 64 * factor * terms, state);
	if ((wide0 || wide1) && *shift + 8 <= OVERTAKE_SHIFT_MAX)
		*shift += 8;
	if (job->insn.out.type && *shift > 8)
		*shift -= 8;
}

void random_channel_params(struct random_job *job, u32 channels, u32 products, u64 *state)
{
	u32 padded = round_up_8(channels);
	u32 *words = random_params(job, 3ull * padded, state);

	for (u32 i = 0; i < channels; i++) {
		/* Now and then the bias is any word, so that the sum may wrap. */
		words[i] = random_between(state, 0, 15) ?
				   random_between(state, 0, 20000) - 10000 :
				   (u32)random_next(state);
		random_scale_to(job, &words[padded + i], &words[2 * padded + i], 128, products,
				state);
	}
}

s32 random_value(u32 type, u64 *state)
{
	return type ? (s32)random_between(state, 0, 65535) - 32768 :
		      (s32)random_between(state, 0, 255) - 128;
}

static void random_clamp(struct random_job *job, u64 *state)
{
	s32 a = random_value(job->insn.out.type, state), b = random_value(job->insn.out.type, state);
	bool full = random_between(state, 0, 2), wide = job->insn.out.type;

	job->insn.clamp_min = (s16)(full ? wide ? -32768 : -128 : a < b ? a : b);
	job->insn.clamp_max = (s16)(full ? wide ? 32767 : 127 : a < b ? b : a);
}

static bool clamps(u16 opcode)
{
	switch (opcode) {
	case OVERTAKE_OP_TABLE:
	case OVERTAKE_OP_COPY:
	case OVERTAKE_OP_PAD:
	case OVERTAKE_OP_PERMUTE:
	case OVERTAKE_OP_DEPTH_TO_SPACE:
	case OVERTAKE_OP_SPACE_TO_DEPTH:
	case OVERTAKE_OP_RESIZE_NEAREST:
	case OVERTAKE_OP_RESIZE_BILINEAR:
	case OVERTAKE_OP_DEQUANTISE:
		return false;
	default:
		return true;
	}
}

void random_job_init(struct random_job *job, u16 opcode, u64 *state)
{
	memset(job, 0, sizeof(*job));
	job->insn.opcode = opcode;
	random_types(&job->insn, state);
	switch (opcode) {
	case OVERTAKE_OP_CONV:
	case OVERTAKE_OP_TRANSPOSED_CONV:
	case OVERTAKE_OP_DEPTHWISE:
	case OVERTAKE_OP_MAX_POOL:
	case OVERTAKE_OP_AVERAGE_POOL:
		random_window_job(job, state);
		break;
	case OVERTAKE_OP_COPY:
	case OVERTAKE_OP_PAD:
	case OVERTAKE_OP_PERMUTE:
	case OVERTAKE_OP_DEPTH_TO_SPACE:
	case OVERTAKE_OP_SPACE_TO_DEPTH:
		random_moving_job(job, state);
		break;
	case OVERTAKE_OP_RESIZE_NEAREST:
	case OVERTAKE_OP_RESIZE_BILINEAR:
	case OVERTAKE_OP_NV12:
		random_resize_job(job, state);
		break;
	case OVERTAKE_OP_DELAY:
		job->insn.delay_cycles = 1 + random_next(state) % OVERTAKE_DELAY_CYCLES_MAX;
		return;
	case OVERTAKE_OP_JUMP:
		job->insn.jump_target = (u32)random_next(state);
		return;
	default:
		random_elementwise_job(job, state);
	}
	if (clamps(opcode))
		random_clamp(job, state);
}

void random_job_free(struct random_job *job)
{
	for (u32 i = 0; i < OVERTAKE_MAX_REGIONS; i++)
		free(job->regions[i].base);
	free(job->dense);
}

void random_job_narrow_weights(struct random_job *job, u64 *seed)
{
	static const u32 wide_of_1000[] = { 0, 0, 3, 10 };
	struct ovt_region *weights = &job->regions[JOB_WEIGHTS];
	u32 wide = wide_of_1000[random_between(seed, 0, 3)];

	if (job->insn.opcode != OVERTAKE_OP_CONV)
		return;
	for (u64 i = job->insn.weights_offset; i + 1 < weights->length; i += 2) {
		bool stays = random_between(seed, 0, 999) < wide;
		u32 first = random_between(seed, 0, 128);
		u32 second = random_between(seed, 0, 2) ? 128 - first : random_between(seed, 0, 63);

		if (first + second > 128)
			first = 128 - second;
		if (stays)
			continue;
		weights->base[i] = (u8)(first > 127 || random_next(seed) >> 63 ? -first : first);
		weights->base[i + 1] =
			(u8)(second > 127 || random_next(seed) >> 63 ? -second : second);
	}
}

u8 *random_job_copy_output(const struct random_job *job)
{
	const struct ovt_region *region = &job->regions[JOB_OUT];
	u8 *copy = malloc(region->length);

	if (!copy)
		abort();
	memcpy(copy, region->base, region->length);
	return copy;
}
