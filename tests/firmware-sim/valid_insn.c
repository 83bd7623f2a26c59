// SPDX-License-Identifier: MIT
#include "valid_insn.h"

#include <string.h>

#include "random_job.h"

#define OP(name) OVERTAKE_OP_##name

static void set_window(struct overtake_insn *insn, u16 kernel, u16 stride, u16 pad)
{
	insn->kernel_height = kernel;
	insn->kernel_width = kernel;
	insn->stride_height = stride;
	insn->stride_width = stride;
	insn->pad_top = pad;
	insn->pad_left = pad;
}

static struct overtake_operand floats(u32 region)
{
	return (struct overtake_operand){ .region = region, .height = 4, .width = 4, .channels = 12,
					  .pixel_stride = 48, .row_stride = 192 };
}

static struct overtake_operand plane(u32 region, u32 size, u32 channels)
{
	return (struct overtake_operand){ .region = region, .height = size, .width = size,
					  .channels = channels, .pixel_stride = channels,
					  .row_stride = size * channels };
}

/* Sets the operands that are not 4x4x12. */
static void set_shapes(struct overtake_insn *insn)
{
	switch (insn->opcode) {
	case OP(MATMUL):
		insn->in[1] = tensor(JOB_IN1, 1, 12, 12);
		break;
	case OP(PAD):
		insn->in[0] = tensor(JOB_IN0, 3, 3, 12);
		insn->pad_top = insn->pad_left = 1;
		break;
	case OP(PERMUTE):
		insn->in[0] = tensor(JOB_IN0, 12, 4, 4);
		insn->axes = 1 | 2 << 2 | 0 << 4;
		break;
	case OP(DEPTH_TO_SPACE):
		insn->in[0] = tensor(JOB_IN0, 2, 2, 48);
		break;
	case OP(SPACE_TO_DEPTH):
		insn->in[0] = tensor(JOB_IN0, 8, 8, 3);
		break;
	case OP(REDUCE_SUM):
	case OP(REDUCE_MAX):
	case OP(REDUCE_MIN):
		insn->out = tensor(JOB_OUT, 1, 4, 12);
		insn->axes = OVERTAKE_AXIS_HEIGHT;
		break;
	case OP(QUANTISE):
		insn->in[0] = floats(JOB_IN0);
		break;
	case OP(DEQUANTISE):
		insn->out = floats(JOB_OUT);
		break;
	case OP(NV12):
		insn->in[0] = plane(JOB_IN0, 5, 1);
		insn->in[1] = plane(JOB_IN1, 3, 2);
		insn->out = tensor(JOB_OUT, 4, 4, 3);
		break;
	}
}

struct overtake_insn valid_insn(u16 opcode)
{
	struct overtake_insn insn = { .opcode = opcode };
	u32 bit = 1u << opcode;

	if (opcode == OP(DELAY))
		insn.delay_cycles = 5;
	if (!(bit & TENSORS))
		return insn;
	insn.out = tensor(JOB_OUT, 4, 4, 12);
	insn.in[0] = tensor(JOB_IN0, 4, 4, 12);
	if (bit & CLAMPED) {
		insn.clamp_min = -128;
		insn.clamp_max = 127;
	}
	if (bit & WITH_WEIGHTS)
		insn.weights_region = JOB_WEIGHTS;
	if (bit & WITH_PARAMS)
		insn.params_region = JOB_PARAMS;
	if (bit & WINDOWED)
		set_window(&insn, 3, 1, 1);
	if (bit & GROUPED)
		insn.groups = 2;
	if (bit & BLOCKS)
		insn.kernel_height = insn.kernel_width = 2;
	if (bit & TWO)
		insn.in[1] = tensor(JOB_IN1, 4, 4, 12);
	if (bit & SCALED)
		insn.multiplier[0] = insn.shift[0] = 1;
	if (bit & SCALED_TWO)
		insn.multiplier[1] = 1;
	if (bit & LOOKS)
		insn.step_y = insn.step_x = 1 << 20;
	set_shapes(&insn);
	return insn;
}

/* Returns the bytes of a tensor as the bound check of its opcode counts them. */
static u64 operand_bytes(const struct overtake_operand *operand, u16 opcode)
{
	u32 channels = random_job_is_exact(opcode) ? operand->channels :
						     (operand->channels + 7) & ~7u;

	if (operand->pixel_stride == 48 && operand->channels == 12)
		channels *= 4;	/* floats */
	return (u64)(operand->height - 1) * operand->row_stride +
	       (u64)(operand->width - 1) * operand->pixel_stride + channels;
}

static u64 weights_bytes(u16 opcode)
{
	switch (opcode) {
	case OP(CONV):
	case OP(TRANSPOSED_CONV):
		return 2 * 9 * 3 * 16;	/* 2 groups, each 1 block of outputs by 3 pairs of inputs */
	case OP(DEPTHWISE):
		return 9 * 16;
	default:
		return opcode == OP(DEQUANTISE) ? 1024 : 256;
	}
}

static u64 params_bytes(u16 opcode)
{
	switch (opcode) {
	case OP(AVERAGE_POOL):
		return 2 * 9 * 4;
	case OP(NV12):
		return 3 * 8 * 4;
	default:
		return 3 * 16 * 4;
	}
}

void exact_regions(struct ovt_region *regions, u16 opcode)
{
	struct overtake_insn insn = valid_insn(opcode);
	static u8 memory[4096];

	memset(regions, 0, OVERTAKE_MAX_REGIONS * sizeof(*regions));
	for (u32 i = 1; i <= JOB_PARAMS; i++)
		regions[i] = (struct ovt_region){ memory, 0, OVT_REGION_READ, 0 };
	regions[JOB_OUT].length = operand_bytes(&insn.out, opcode);
	regions[JOB_OUT].flags = OVT_REGION_WRITE;
	regions[JOB_IN0].length = operand_bytes(&insn.in[0], opcode);
	regions[JOB_IN1].length = operand_bytes(&insn.in[1], opcode);
	regions[JOB_WEIGHTS].length = weights_bytes(opcode);
	regions[JOB_PARAMS].length = params_bytes(opcode);
}
