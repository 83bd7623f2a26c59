// SPDX-License-Identifier: MIT
/* seeds DIRECTORY [COUNT]: writes COUNT (20) valid instructions of each opcode as inputs. */
#include <stdio.h>
#include <stdlib.h>

#include "case.h"
#include "random_job.h"

static bool fits(const struct random_job *job)
{
	for (u32 i = 0; i < OVERTAKE_MAX_REGIONS; i++) {
		if (job->regions[i].length > FUZZ_REGION_MAX)
			return false;
	}
	return true;
}

/* Makes a random job whose regions fit an input's fields. */
static void init_job(struct random_job *job, u16 opcode, u64 *state)
{
	random_job_init(job, opcode, state);
	while (!fits(job)) {
		random_job_free(job);
		random_job_init(job, opcode, state);
	}
}

static void from_job(struct fuzz_case *input, const struct random_job *job, u64 *state)
{
	memset(input, 0, sizeof(*input));
	input->insn = job->insn;
	input->budget = random_between(state, 1, 2000);
	input->seed = (u32)random_next(state);
	for (u32 i = 0; i < OVERTAKE_MAX_REGIONS; i++) {
		input->regions[i].length = (u16)job->regions[i].length;
		input->regions[i].flags = (u8)job->regions[i].flags;
		input->regions[i].snug = job->regions[i].length != 0;
	}
}

static bool write_file(const char *directory, u16 opcode, u32 number, const struct fuzz_case *input)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/opcode-%02u-%u", directory, opcode, number);
	file = fopen(path, "wb");
	if (!file || fwrite(input, sizeof(*input), 1, file) != 1 || fclose(file)) {
		perror(path);
		return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	u32 count = argc > 2 ? (u32)atoi(argv[2]) : 20;
	u64 state = 20261121;

	if (argc < 2) {
		fprintf(stderr, "usage: seeds DIRECTORY [COUNT]\n");
		return 2;
	}
	for (u16 opcode = 1; opcode < OVERTAKE_OP_COUNT; opcode++) {
		for (u32 number = 0; number < count; number++) {
			struct fuzz_case input;
			struct random_job job;

			init_job(&job, opcode, &state);
			from_job(&input, &job, &state);
			random_job_free(&job);
			if (!write_file(argv[1], opcode, number, &input))
				return 1;
		}
	}
	return 0;
}
