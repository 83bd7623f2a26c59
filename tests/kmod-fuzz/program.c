// SPDX-License-Identifier: MIT
#include "program.h"

#include <stdbool.h>
#include <string.h>

#include "reference.h"

#define ALIGNMENT	64u

/* Copies region @index of @job behind the regions placed already; false if it does not fit. */
static bool place_region(const struct random_job *job, uint32_t index, uint8_t *data,
			 uint64_t *used, uint64_t limit, uint64_t *at)
{
	const struct ovt_region *region = &job->regions[index];

	if (region->length > limit - *used)
		return false;
	*at = *used;
	memcpy(data + *at, region->base, region->length);
	*used += (region->length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	if (*used > limit)
		*used = limit;
	return true;
}

/* Moves every region of @job into @data, and its instruction, with offsets that fit, to @insn. */
static bool place_job(const struct random_job *job, struct overtake_insn *insn, uint8_t *data,
		      uint64_t *used, uint64_t limit)
{
	uint64_t places[OVERTAKE_MAX_REGIONS] = { 0 };
	struct overtake_operand *operands[] = { &insn->out, &insn->in[0], &insn->in[1] };
	uint32_t i;

	*insn = job->insn;
	for (i = 0; i < OVERTAKE_MAX_REGIONS; i++)
		if (job->regions[i].base && !place_region(job, i, data, used, limit, &places[i]))
			return false;
	for (i = 0; i < 3; i++) {
		if (!operands[i]->region)
			continue;
		operands[i]->offset += places[operands[i]->region];
		operands[i]->region = OVERTAKE_REGION_IO;
	}
	if (insn->weights_region) {
		insn->weights_offset += places[insn->weights_region];
		insn->weights_region = OVERTAKE_REGION_IO;
	}
	if (insn->params_region) {
		insn->params_offset += places[insn->params_region];
		insn->params_region = OVERTAKE_REGION_IO;
	}
	return true;
}

uint32_t fuzz_program(uint64_t seed, struct overtake_insn *insns, uint32_t count, uint8_t *data,
		      uint64_t data_bytes)
{
	uint64_t used = 0;
	uint32_t made = 0;
	uint32_t attempt;

	for (attempt = 0; attempt < 4 * count && made < count; attempt++) {
		uint16_t opcode = (uint16_t)random_between(&seed, 1, OVERTAKE_OP_COUNT - 1);
		/* A copy, since other threads write to that memory at the same time. */
		struct overtake_insn insn;
		struct random_job job;

		if (opcode == OVERTAKE_OP_JUMP)
			continue; /* the caller writes jumps */
		random_job_init(&job, opcode, &seed);
		if (opcode == OVERTAKE_OP_DELAY)
			job.insn.delay_cycles = 1 + job.insn.delay_cycles % 4096;
		if (place_job(&job, &insn, data, &used, data_bytes))
			insns[made++] = insn;
		random_job_free(&job);
	}
	return made;
}

static void compute(const struct random_job *job, const struct overtake_operand *out, uint8_t *data)
{
	uint32_t size = reference_element_bytes(job);
	uint32_t y, x, c;

	for (y = 0; y < out->height; y++)
		for (x = 0; x < out->width; x++)
			for (c = 0; c < out->channels; c++)
				reference_element(job, y, x, c,
						  data + out->offset + (uint64_t)y * out->row_stride +
						  (uint64_t)x * out->pixel_stride + size * c);
}

int fuzz_reference(uint64_t seed, uint16_t opcode, struct overtake_insn *insn, uint8_t *data,
		   uint8_t *expected, uint64_t data_bytes)
{
	uint32_t attempt;

	for (attempt = 0; attempt < 16; attempt++) {
		struct random_job job;
		uint64_t used = 0;
		bool placed;

		random_job_init(&job, opcode, &seed);
		placed = place_job(&job, insn, data, &used, data_bytes);
		if (placed) {
			memcpy(expected, data, data_bytes);
			compute(&job, &insn->out, expected);
		}
		random_job_free(&job);
		if (placed)
			return 1;
	}
	return 0;
}
