// SPDX-License-Identifier: MIT
#include "random_job.h"

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

static void bind(struct random_job *job, u32 region, u64 size, u32 flags, u64 *state)
{
	job->regions[region].base = malloc(size);
	if (!job->regions[region].base)
		abort();
	job->regions[region].length = size;
	job->regions[region].flags = flags;
	fill_random(job->regions[region].base, size, state);
}

/* Gives @operand its shape, strides with some slack, and a region. */
static void place(struct random_job *job, struct overtake_operand *operand, u32 region, u32 flags,
		  u32 height, u32 width, u32 channels, u64 *state)
{
	operand->region = region;
	operand->zero_point = (s32)random_between(state, 0, 255) - 128;
	operand->offset = random_between(state, 0, 3) ? 8 * random_between(state, 0, 2)
						      : random_between(state, 0, 20);
	operand->height = height;
	operand->width = width;
	operand->channels = channels;
	operand->pixel_stride = round_up_8(channels) + 8 * random_between(state, 0, 1);
	operand->row_stride = width * operand->pixel_stride +
			      random_between(state, 0, 1) * random_between(state, 0, 24);
	bind(job, region,
	     operand->offset + (u64)(height - 1) * operand->row_stride +
		     (u64)(width - 1) * operand->pixel_stride + round_up_8(channels),
	     flags, state);
}

static void place_output(struct random_job *job, u32 height, u32 width, u32 channels, u64 *state)
{
	place(job, &job->insn.out, JOB_OUT, OVT_REGION_READ | OVT_REGION_WRITE, height, width,
	      channels, state);
}

static void place_input(struct random_job *job, u32 index, u32 height, u32 width, u32 channels,
			u64 *state)
{
	place(job, &job->insn.in[index], index ? JOB_IN1 : JOB_IN0, OVT_REGION_READ, height, width,
	      channels, state);
}

/* Mostly scales that bring sums of about @magnitude into int8, and everything else that is valid. */
static void random_scale(u32 *multiplier, u32 *shift, u32 magnitude, u64 *state)
{
	u32 bits = 0;

	while (magnitude >> bits)
		bits++;
	switch (random_between(state, 0, 7)) {
	case 0:	/* whatever is allowed */
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

static void bind_channel_params(struct random_job *job, u32 channels, u32 products, u64 *state)
{
	u32 padded = round_up_8(channels);
	u32 *words;

	job->insn.params_region = JOB_PARAMS;
	job->insn.params_offset = 4 * random_between(state, 0, 3);
	bind(job, JOB_PARAMS, job->insn.params_offset + 3ull * 4 * padded, OVT_REGION_READ, state);
	words = (u32 *)(job->regions[JOB_PARAMS].base + job->insn.params_offset);
	for (u32 i = 0; i < channels; i++) {
		/* A bias of any size now and then: the sum wraps. */
		words[i] = random_between(state, 0, 15) ?
				   random_between(state, 0, 20000) - 10000 :
				   (u32)random_next(state);
		random_scale(&words[padded + i], &words[2 * padded + i], 128 * 64 * products,
			     state);
	}
}

static void random_clamp(struct random_job *job, u64 *state)
{
	s32 a = (s32)random_between(state, 0, 255) - 128;
	s32 b = (s32)random_between(state, 0, 255) - 128;
	bool full = random_between(state, 0, 2);

	job->insn.clamp_min = (s16)(full ? -128 : a < b ? a : b);
	job->insn.clamp_max = (s16)(full ? 127 : a < b ? b : a);
}

/* Rows or columns of an input that @outputs windows cover, with up to a kernel to spare. */
static u32 random_extent(u32 outputs, u32 stride, u32 pad, u32 kernel, u64 *state)
{
	s32 begin = (s32)((outputs - 1) * stride) - (s32)pad;

	return (begin > 0 ? (u32)begin : 0) + 1 + random_between(state, 0, kernel);
}

/* A window, the output and in[0]. */
static void random_window(struct random_job *job, u32 inputs, u32 outputs, u64 *state)
{
	struct overtake_insn *insn = &job->insn;
	u32 height = random_between(state, 1, 5);
	u32 width = random_between(state, 1, 5);

	insn->kernel_height = (u16)random_between(state, 1, 4);
	insn->kernel_width = (u16)random_between(state, 1, 4);
	insn->stride_height = (u16)random_between(state, 1, 3);
	insn->stride_width = (u16)random_between(state, 1, 3);
	insn->pad_top = (u16)random_between(state, 0, insn->kernel_height - 1u);
	insn->pad_left = (u16)random_between(state, 0, insn->kernel_width - 1u);
	place_output(job, height, width, outputs, state);
	place_input(job, 0,
		    random_extent(height, insn->stride_height, insn->pad_top, insn->kernel_height,
				  state),
		    random_extent(width, insn->stride_width, insn->pad_left, insn->kernel_width,
				  state),
		    inputs, state);
}

static u8 *bind_weights(struct random_job *job, u64 dense_bytes, u64 packed_bytes, u64 *state)
{
	u8 *packed;

	job->dense = malloc(dense_bytes);
	if (!job->dense)
		abort();
	fill_random((u8 *)job->dense, dense_bytes, state);
	job->insn.weights_region = JOB_WEIGHTS;
	job->insn.weights_offset = random_between(state, 0, 9);
	bind(job, JOB_WEIGHTS, job->insn.weights_offset + packed_bytes, OVT_REGION_READ, state);
	packed = job->regions[JOB_WEIGHTS].base + job->insn.weights_offset;
	memset(packed, 0, packed_bytes);
	return packed;
}

/* [group][o / 8][ky][kx][i / 2][8 o][2 i] */
static void pack_conv(struct random_job *job, u32 inputs, u32 outputs, u64 *state)
{
	const struct overtake_insn *insn = &job->insn;
	u64 taps = (u64)insn->kernel_height * insn->kernel_width;
	u64 input_blocks = (inputs + 1) / 2, output_blocks = (outputs + 7) / 8;
	u64 all_outputs = (u64)outputs * insn->groups;
	u8 *packed = bind_weights(job, all_outputs * inputs * taps,
				  insn->groups * output_blocks * taps * input_blocks * 16, state);

	for (u64 n = 0; n < all_outputs * inputs * taps; n++) {
		u64 tap = n % taps, i = n / taps % inputs, channel = n / taps / inputs;
		u64 group = channel / outputs, o = channel % outputs;
		u64 tile = ((group * output_blocks + o / 8) * taps + tap) * input_blocks + i / 2;

		packed[tile * 16 + o % 8 * 2 + i % 2] = (u8)job->dense[n];
	}
}

/* [ky][kx][channels rounded up to 8] */
static void pack_depthwise(struct random_job *job, u32 channels, u64 *state)
{
	u64 taps = (u64)job->insn.kernel_height * job->insn.kernel_width;
	u8 *packed = bind_weights(job, taps * channels, taps * round_up_8(channels), state);

	for (u64 n = 0; n < taps * channels; n++)
		packed[n % taps * round_up_8(channels) + n / taps] = (u8)job->dense[n];
}

static void init_conv(struct random_job *job, u64 *state)
{
	static const u32 groups[] = { 1, 1, 1, 2, 3, 5 };
	u32 inputs = random_between(state, 1, 20);
	u32 outputs = random_between(state, 1, 20);

	job->insn.groups = groups[random_between(state, 0, 5)];
	random_window(job, inputs * job->insn.groups, outputs * job->insn.groups, state);
	pack_conv(job, inputs, outputs, state);
	bind_channel_params(job, outputs * job->insn.groups,
			    inputs * job->insn.kernel_height * job->insn.kernel_width, state);
}

static void init_depthwise(struct random_job *job, u64 *state)
{
	u32 channels = random_between(state, 1, 30);

	random_window(job, channels, channels, state);
	pack_depthwise(job, channels, state);
	bind_channel_params(job, channels,
			    (u32)job->insn.kernel_height * job->insn.kernel_width, state);
}

static void init_matmul(struct random_job *job, u64 *state)
{
	u32 height = random_between(state, 1, 3), width = random_between(state, 1, 4);
	u32 depth = random_between(state, 1, 70), columns = random_between(state, 1, 20);

	place_output(job, height, width, columns, state);
	place_input(job, 0, height, width, depth, state);
	place_input(job, 1, 1, columns, depth, state);
	bind_channel_params(job, columns, depth, state);
}

static void init_pool(struct random_job *job, u64 *state)
{
	u32 channels = random_between(state, 1, 30);
	u32 entries;
	u32 *words;

	random_window(job, channels, channels, state);
	if (job->insn.opcode == OVERTAKE_OP_MAX_POOL) {
		job->insn.in[0].zero_point = job->insn.out.zero_point;
		return;
	}
	if (random_between(state, 0, 1))
		job->insn.flags = OVERTAKE_FLAG_COUNT_INCLUDE_PAD;
	entries = (u32)job->insn.kernel_height * job->insn.kernel_width;
	job->insn.params_region = JOB_PARAMS;
	job->insn.params_offset = 4 * random_between(state, 0, 3);
	bind(job, JOB_PARAMS, job->insn.params_offset + 8ull * entries, OVT_REGION_READ, state);
	words = (u32 *)(job->regions[JOB_PARAMS].base + job->insn.params_offset);
	for (u32 i = 0; i < entries; i++)
		random_scale(&words[i], &words[entries + i], 64 * (i + 1), state);
}

static void init_elementwise(struct random_job *job, u64 *state)
{
	bool wide = !random_between(state, 0, 31);
	u32 height = random_between(state, 1, 4), width = random_between(state, 1, 4);
	u32 channels = wide ? random_between(state, 4090, 9000) : random_between(state, 1, 40);
	u8 *table;

	place_output(job, height, width, channels, state);
	place_input(job, 0, height, width, channels, state);
	if (job->insn.opcode == OVERTAKE_OP_ADD) {
		place_input(job, 1, height, width, channels, state);
		random_scale(&job->insn.multiplier[0], &job->insn.shift[0], 64, state);
		job->insn.multiplier[1] =
			random_between(state, 0, 2 * job->insn.multiplier[0]) &
			OVERTAKE_MULTIPLIER_MAX;
	} else if (job->insn.opcode == OVERTAKE_OP_TABLE) {
		table = bind_weights(job, 256, 256, state);
		memcpy(table, job->dense, 256);
	}
}

void random_job_init(struct random_job *job, u16 opcode, u64 *state)
{
	memset(job, 0, sizeof(*job));
	job->insn.opcode = opcode;
	switch (opcode) {
	case OVERTAKE_OP_CONV:
		init_conv(job, state);
		break;
	case OVERTAKE_OP_DEPTHWISE:
		init_depthwise(job, state);
		break;
	case OVERTAKE_OP_MATMUL:
		init_matmul(job, state);
		break;
	case OVERTAKE_OP_MAX_POOL:
	case OVERTAKE_OP_AVERAGE_POOL:
		init_pool(job, state);
		break;
	case OVERTAKE_OP_DELAY:
		job->insn.delay_cycles = 1 + random_next(state) % OVERTAKE_DELAY_CYCLES_MAX;
		return;
	case OVERTAKE_OP_JUMP:
		job->insn.jump_target = (u32)random_next(state);
		return;
	default:
		init_elementwise(job, state);
	}
	if (opcode != OVERTAKE_OP_TABLE && opcode != OVERTAKE_OP_COPY)
		random_clamp(job, state);
}

void random_job_free(struct random_job *job)
{
	for (u32 i = 0; i < OVERTAKE_MAX_REGIONS; i++)
		free(job->regions[i].base);
	free(job->dense);
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
