// SPDX-License-Identifier: MIT
/* Random instructions that sample an image: RESIZE_* and NV12. */
#include "random_parts.h"

/* Returns a position in or near an image of @size, now and then 0 or a limit of positions. */
static s64 random_start(u32 size, u64 *state)
{
	s64 around = (s64)(((u64)size + 4) << 20);

	switch (random_between(state, 0, 15)) {
	case 0:
		return OVERTAKE_START_MAX;
	case 1:
		return -OVERTAKE_START_MAX;
	case 2:
		return 0;
	default:
		return (s64)(random_next(state) >> 1) % around - (2 << 20);
	}
}

/* Returns a step that enlarges, reduces or keeps the image, or 0 or the greatest step. */
static u32 random_step(u64 *state)
{
	switch (random_between(state, 0, 7)) {
	case 0:
		return random_between(state, 0, 1) ? 0 : OVERTAKE_STEP_MAX;
	case 1:
		return 1 << 20;
	case 2:
		return random_between(state, 1, 8) << 17;
	default:
		return random_between(state, 0, 3 << 20);
	}
}

static void random_look(struct random_job *job, u64 *state)
{
	struct overtake_insn *insn = &job->insn;

	insn->start_y = random_start(insn->in[0].height, state);
	insn->start_x = random_start(insn->in[0].width, state);
	insn->step_y = random_step(state);
	insn->step_x = random_step(state);
}

static void init_picture(struct random_job *job, u64 *state)
{
	static const u16 orders[] = { 0, OVERTAKE_FLAG_BGR, OVERTAKE_FLAG_GRAY };
	struct overtake_insn *insn = &job->insn;
	u32 height = random_between(state, 1, 9), width = random_between(state, 1, 9);
	bool gray;

	insn->flags = orders[random_between(state, 0, 2)];
	gray = insn->flags == OVERTAKE_FLAG_GRAY;
	if (random_between(state, 0, 1))
		insn->flags |= OVERTAKE_FLAG_FULL_RANGE;
	if (random_between(state, 0, 1))
		insn->flags |= OVERTAKE_FLAG_NEAREST;
	random_input(job, 0, height, width, 1, state);
	if (!gray)
		random_input(job, 1, (height + 1) / 2, (width + 1) / 2, 2, state);
	random_output(job, random_between(state, 1, 6), random_between(state, 1, 6), gray ? 1 : 3,
		      state);
	random_channel_params(job, gray ? 1 : 3, 1, state);
}

void random_resize_job(struct random_job *job, u64 *state)
{
	u32 channels = random_between(state, 0, 31) ? random_between(state, 1, 40) :
						      random_between(state, 4090, 5000);

	if (job->insn.opcode == OVERTAKE_OP_NV12) {
		init_picture(job, state);
	} else {
		random_input(job, 0, random_between(state, 1, 6), random_between(state, 1, 6),
			     channels, state);
		random_output(job, random_between(state, 1, 6), random_between(state, 1, 6),
			      channels, state);
		job->insn.in[0].zero_point = job->insn.out.zero_point;
	}
	random_look(job, state);
}
