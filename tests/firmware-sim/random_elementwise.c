// SPDX-License-Identifier: MIT
/* Random instructions without a window: arithmetic, tables, products, reductions. */
#include "random_parts.h"

static void init_matmul(struct random_job *job, u64 *state)
{
	u32 height = random_between(state, 1, 3), width = random_between(state, 1, 4);
	u32 depth = random_between(state, 1, 70), columns = random_between(state, 1, 20);

	random_output(job, height, width, columns, state);
	random_input(job, 0, height, width, depth, state);
	random_input(job, 1, random_between(state, 0, 1) ? height : 1, columns, depth, state);
	random_channel_params(job, columns, depth, state);
}

/* Returns a dimension of an input: the output's (@outputs), or 1 in a quarter of the cases. */
static u32 broadcast(u32 outputs, u64 *state)
{
	return random_between(state, 0, 3) ? outputs : 1;
}

static void init_two(struct random_job *job, u32 height, u32 width, u32 channels, u64 *state)
{
	struct overtake_insn *insn = &job->insn;
	bool product = insn->opcode == OVERTAKE_OP_MUL;

	for (u32 i = 0; i < 2; i++)
		random_input(job, i, broadcast(height, state), broadcast(width, state),
			     broadcast(channels, state), state);
	random_scale_to(job, &insn->multiplier[0], &insn->shift[0], product ? 64 : 1, 1, state);
	if (!product)
		insn->multiplier[1] = random_between(state, 0, 2 * insn->multiplier[0]) &
				      OVERTAKE_MULTIPLIER_MAX;
}

/* Fills in[0]: random words, special floats, and floats that scale to about the output's range. */
static void fill_floats(struct random_job *job, u64 *state)
{
	struct ovt_region *region = &job->regions[JOB_IN0];
	static const u32 special[] = { 0, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001,
				       1, 0x80000001, 0x007fffff, 0x00800000, 0x7f7fffff,
				       0xff7fffff, 0x3f800000, 0x3f000000, 0xbf000000 };

	for (u64 at = job->insn.in[0].offset; at + 4 <= region->length; at += 4) {
		u32 word = (u32)(random_next(state) >> 16);
		s32 range = job->insn.out.type ? 75 * 600 : 600;
		s32 sum = (s32)random_between(state, 0, 2 * (u32)range) - range;
		/* sum / 4 * 2^shift / multiplier: quarters make ties if a scale is a power of 2 */
		float value = (float)sum / 4;

		switch (random_between(state, 0, 5)) {
		case 0:
			break;
		case 1:
			word = special[random_between(state, 0, 14)];
			break;
		default:
			for (u32 i = 0; i < job->insn.shift[0]; i++)
				value *= 2;
			if (job->insn.multiplier[0])
				value /= (float)job->insn.multiplier[0];
			memcpy(&word, &value, 4);
		}
		memcpy(region->base + at, &word, 4);
	}
}

static void init_one(struct random_job *job, u32 height, u32 width, u32 channels, u64 *state)
{
	struct overtake_insn *insn = &job->insn;
	u32 table = insn->opcode == OVERTAKE_OP_DEQUANTISE ? 1024 :
		    (insn->in[0].type ? 65536 : 256) * (insn->out.type ? 2 : 1);
	u8 *weights;

	random_input(job, 0, height, width, channels, state);
	if (insn->opcode == OVERTAKE_OP_DEQUANTISE && insn->in[0].type) {
		random_scale(&insn->multiplier[0], &insn->shift[0], 64, state);
		return;
	}
	switch (insn->opcode) {
	case OVERTAKE_OP_TABLE:
	case OVERTAKE_OP_DEQUANTISE:
		weights = random_weights(job, table, table, state);
		memcpy(weights, job->dense, table);
		break;
	case OVERTAKE_OP_QUANTISE:
		random_scale(&insn->multiplier[0], &insn->shift[0], 64, state);
		fill_floats(job, state);
		break;
	default:
		random_scale_to(job, &insn->multiplier[0], &insn->shift[0], 1, 1, state);
	}
}

static void init_reduce(struct random_job *job, u64 *state)
{
	struct overtake_insn *insn = &job->insn;
	u32 shape[3] = { random_between(state, 1, 5), random_between(state, 1, 5),
			 random_between(state, 1, 30) };
	u32 elements = 1;

	random_input(job, 0, shape[0], shape[1], shape[2], state);
	insn->axes = random_between(state, 1, 7);
	for (u32 axis = 0; axis < 3; axis++) {
		if (insn->axes >> axis & 1) {
			elements *= shape[axis];
			shape[axis] = 1;
		}
	}
	random_output(job, shape[0], shape[1], shape[2], state);
	if (insn->opcode == OVERTAKE_OP_REDUCE_SUM)
		random_scale_to(job, &insn->multiplier[0], &insn->shift[0], 1, elements, state);
	else
		insn->in[0].zero_point = insn->out.zero_point;
}

void random_elementwise_job(struct random_job *job, u64 *state)
{
	bool wide = !random_between(state, 0, 31);
	u32 height = random_between(state, 1, 4), width = random_between(state, 1, 4);
	u32 channels = wide ? random_between(state, 4090, 9000) : random_between(state, 1, 40);

	switch (job->insn.opcode) {
	case OVERTAKE_OP_MATMUL:
		init_matmul(job, state);
		break;
	case OVERTAKE_OP_REDUCE_SUM:
	case OVERTAKE_OP_REDUCE_MAX:
	case OVERTAKE_OP_REDUCE_MIN:
		init_reduce(job, state);
		break;
	case OVERTAKE_OP_TABLE:
	case OVERTAKE_OP_REQUANTISE:
	case OVERTAKE_OP_QUANTISE:
	case OVERTAKE_OP_DEQUANTISE:
		random_output(job, height, width, channels, state);
		init_one(job, height, width, channels, state);
		break;
	default:
		random_output(job, height, width, channels, state);
		init_two(job, height, width, channels, state);
	}
}
