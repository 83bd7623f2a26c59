// SPDX-License-Identifier: MIT
/* Random instructions that only move elements. */
#include "random_parts.h"

static void init_pad(struct random_job *job, u32 height, u32 width, u32 channels, u64 *state)
{
	static const u16 modes[] = { 0, OVERTAKE_FLAG_EDGE, OVERTAKE_FLAG_REFLECT };
	struct overtake_insn *insn = &job->insn;
	bool reflect;
	u32 bottom, right;

	insn->flags = modes[random_between(state, 0, 2)];
	reflect = insn->flags == OVERTAKE_FLAG_REFLECT;
	insn->pad_top = (u16)random_between(state, 0, reflect ? height - 1 : 4);
	insn->pad_left = (u16)random_between(state, 0, reflect ? width - 1 : 4);
	bottom = random_between(state, 0, reflect ? height - 1 : 4);
	right = random_between(state, 0, reflect ? width - 1 : 4);
	if (!insn->flags)
		insn->fill = random_value(insn->out.type, state);
	random_input(job, 0, height, width, channels, state);
	random_output(job, insn->pad_top + height + bottom, insn->pad_left + width + right, channels,
		      state);
}

static void init_permute(struct random_job *job, u32 height, u32 width, u32 channels, u64 *state)
{
	static const u8 orders[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
					 { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
	const u8 *order = orders[random_between(state, 0, 5)];
	const u32 shape[3] = { height, width, channels };

	job->insn.axes = order[0] | (u32)order[1] << 2 | (u32)order[2] << 4;
	random_input(job, 0, height, width, channels, state);
	random_output(job, shape[order[0]], shape[order[1]], shape[order[2]], state);
}

static void init_blocks(struct random_job *job, u32 height, u32 width, u32 channels, u64 *state)
{
	u32 block = random_between(state, 1, 3);
	u32 deep = channels * block * block;

	job->insn.kernel_height = job->insn.kernel_width = (u16)block;
	if (job->insn.opcode == OVERTAKE_OP_SPACE_TO_DEPTH) {
		random_input(job, 0, height * block, width * block, channels, state);
		random_output(job, height, width, deep, state);
		return;
	}
	if (random_between(state, 0, 1))
		job->insn.flags = OVERTAKE_FLAG_CRD;
	random_input(job, 0, height, width, deep, state);
	random_output(job, height * block, width * block, channels, state);
}

void random_moving_job(struct random_job *job, u64 *state)
{
	bool wide = !random_between(state, 0, 31);
	u32 height = random_between(state, 1, 4), width = random_between(state, 1, 4);
	u32 channels = wide ? random_between(state, 4090, 5000) : random_between(state, 1, 40);

	switch (job->insn.opcode) {
	case OVERTAKE_OP_PAD:
		init_pad(job, height, width, channels, state);
		break;
	case OVERTAKE_OP_PERMUTE:
		init_permute(job, height, width, channels, state);
		break;
	case OVERTAKE_OP_COPY:
		random_output(job, height, width, channels, state);
		random_input(job, 0, height, width, channels, state);
		break;
	default:
		init_blocks(job, height, width, channels, state);
	}
}
