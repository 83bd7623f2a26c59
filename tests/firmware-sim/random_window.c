// SPDX-License-Identifier: MIT
/* Random convolutions and pools. */
#include "random_parts.h"

static u32 round_up_8(u32 value)
{
	return (value + 7) & ~7u;
}

/* Returns rows or columns of an input: the last of @outputs windows begins before its end. */
static u32 random_extent(u32 outputs, u32 stride, u32 pad, u32 kernel, u64 *state)
{
	s32 begin = (s32)((outputs - 1) * stride) - (s32)pad;

	return (begin > 0 ? (u32)begin : 0) + 1 + random_between(state, 0, kernel);
}

static u32 extent(u32 kernel, u32 dilation)
{
	return (kernel - 1) * (dilation ? dilation : 1) + 1;
}

/* Now and then sets dilations or strides near their limit: hardly any tap meets the input. */
static void far_taps(struct overtake_insn *insn, u64 *state)
{
	if (!random_between(state, 0, 7))
		insn->dilation_height = (u16)(0xffff - random_between(state, 0, 3));
	if (!random_between(state, 0, 7))
		insn->dilation_width = (u16)(0xffff - random_between(state, 0, 3));
	if (insn->opcode == OVERTAKE_OP_TRANSPOSED_CONV && !random_between(state, 0, 7))
		insn->stride_height = (u16)(0xffff - random_between(state, 0, 3));
	if (insn->opcode == OVERTAKE_OP_TRANSPOSED_CONV && !random_between(state, 0, 7))
		insn->stride_width = insn->dilation_width ? insn->dilation_width : 0xffff;
}

/* Now and then makes a kernel longer than the period of the taps that reach an output. */
static void long_kernel(struct overtake_insn *insn, u64 *state)
{
	if (insn->opcode != OVERTAKE_OP_TRANSPOSED_CONV || random_between(state, 0, 3))
		return;
	insn->kernel_height = (u16)random_between(state, 1, 90);
	insn->kernel_width = 1;
	insn->stride_height = (u16)random_between(state, 1, 60);
	insn->dilation_height = (u16)random_between(state, 0, 60);
}

/* Makes a window, the output and in[0]. */
static void random_window(struct random_job *job, u32 inputs, u32 outputs, u64 *state)
{
	struct overtake_insn *insn = &job->insn;
	u32 height = random_between(state, 1, 5);
	u32 width = random_between(state, 1, 5);

	insn->kernel_height = (u16)random_between(state, 1, 4);
	insn->kernel_width = (u16)random_between(state, 1, 4);
	insn->stride_height = (u16)random_between(state, 1, 3);
	insn->stride_width = (u16)random_between(state, 1, 3);
	if (insn->opcode != OVERTAKE_OP_AVERAGE_POOL && !random_between(state, 0, 2)) {
		insn->dilation_height = (u16)random_between(state, 0, 4);
		insn->dilation_width = (u16)random_between(state, 0, 4);
		far_taps(insn, state);
	}
	long_kernel(insn, state);
	insn->pad_top = (u16)random_between(state, 0, extent(insn->kernel_height,
							     insn->dilation_height) - 1);
	insn->pad_left = (u16)random_between(state, 0, extent(insn->kernel_width,
							      insn->dilation_width) - 1);
	random_output(job, height, width, outputs, state);
	if (insn->opcode == OVERTAKE_OP_TRANSPOSED_CONV) {
		random_input(job, 0, random_between(state, 1, insn->kernel_height > 4 ? 50 : 4),
			     random_between(state, 1, 4), inputs, state);
		return;
	}
	random_input(job, 0,
		     random_extent(height, insn->stride_height, insn->pad_top, insn->kernel_height,
				   state),
		     random_extent(width, insn->stride_width, insn->pad_left, insn->kernel_width,
				   state),
		     inputs, state);
}

/* Packs weights as [group][o / 8][ky][kx][i / 2][8 o][2 i]. */
static void pack_conv(struct random_job *job, u32 inputs, u32 outputs, u64 *state)
{
	const struct overtake_insn *insn = &job->insn;
	u64 taps = (u64)insn->kernel_height * insn->kernel_width;
	u64 input_blocks = (inputs + 1) / 2, output_blocks = (outputs + 7) / 8;
	u64 all_outputs = (u64)outputs * insn->groups;
	u8 *packed = random_weights(job, all_outputs * inputs * taps,
				  insn->groups * output_blocks * taps * input_blocks * 16, state);

	for (u64 n = 0; n < all_outputs * inputs * taps; n++) {
		u64 tap = n % taps, i = n / taps % inputs, channel = n / taps / inputs;
		u64 group = channel / outputs, o = channel % outputs;
		u64 tile = ((group * output_blocks + o / 8) * taps + tap) * input_blocks + i / 2;

		packed[tile * 16 + o % 8 * 2 + i % 2] = (u8)job->dense[n];
	}
}

/* Packs weights as [ky][kx][channels rounded up to 8]. */
static void pack_depthwise(struct random_job *job, u32 channels, u64 *state)
{
	u64 taps = (u64)job->insn.kernel_height * job->insn.kernel_width;
	u8 *packed = random_weights(job, taps * channels, taps * round_up_8(channels), state);

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
	random_channel_params(job, outputs * job->insn.groups,
			    inputs * job->insn.kernel_height * job->insn.kernel_width, state);
}

/* Makes up to 30 or up to 150 channels: vectors have up to 64. */
static void init_depthwise(struct random_job *job, u64 *state)
{
	u32 channels = random_between(state, 1, random_between(state, 0, 2) ? 30 : 150);

	random_window(job, channels, channels, state);
	pack_depthwise(job, channels, state);
	random_channel_params(job, channels,
			    (u32)job->insn.kernel_height * job->insn.kernel_width, state);
}

static void init_pool(struct random_job *job, u64 *state)
{
	struct overtake_insn *insn = &job->insn;
	u32 channels = random_between(state, 1, 30);
	u32 entries;
	u32 *words;

	random_window(job, channels, channels, state);
	if (insn->opcode == OVERTAKE_OP_MAX_POOL) {
		insn->in[0].zero_point = insn->out.zero_point;
		return;
	}
	if (random_between(state, 0, 1))
		insn->flags = OVERTAKE_FLAG_COUNT_INCLUDE_PAD;
	if (insn->flags && random_between(state, 0, 1)) {
		insn->flags |= OVERTAKE_FLAG_CLIP_PAD;
		insn->pad_bottom = (u16)random_between(state, 0, insn->kernel_height - 1u);
		insn->pad_right = (u16)random_between(state, 0, insn->kernel_width - 1u);
	}
	entries = (u32)insn->kernel_height * insn->kernel_width;
	words = random_params(job, 2ull * entries, state);
	for (u32 i = 0; i < entries; i++)
		random_scale_to(job, &words[i], &words[entries + i], 1, i + 1, state);
}

void random_window_job(struct random_job *job, u64 *state)
{
	switch (job->insn.opcode) {
	case OVERTAKE_OP_CONV:
	case OVERTAKE_OP_TRANSPOSED_CONV:
		init_conv(job, state);
		break;
	case OVERTAKE_OP_DEPTHWISE:
		init_depthwise(job, state);
		break;
	default:
		init_pool(job, state);
	}
}
