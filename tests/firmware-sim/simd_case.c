// SPDX-License-Identifier: MIT
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>

#include "hw/simd/choose.h"
#include "simd_case.h"

static void run_scalar(const struct random_job *job, const struct ovt_operands *operands)
{
	struct ovt_cursor cursor = { 0 };
	s64 work = INT64_MAX;

	assert_true(ovt_operator_run(&job->insn, operands, &cursor, &work));
}

/* Runs a case in calls with @budget; returns their number. */
static u64 run_simd(const struct random_job *job, const struct ovt_operands *operands,
		    struct ovt_simd_scratch *scratch, s64 budget)
{
	struct ovt_cursor cursor = { 0 };
	bool finished = false;
	u64 calls = 0;

	while (!finished) {
		struct ovt_simd_section section;
		s64 work = budget;

		assert_true(ovt_simd_begin(&section));
		finished = ovt_simd_run(&job->insn, operands, scratch, &cursor, &work);
		ovt_simd_end(&section);
		assert_true(work < budget);
		assert_true(finished || work <= 0);
		/* No unit and its preparation together count more work than this. */
		assert_true(budget == INT64_MAX || work > -(s64)(OVT_SIMD_UNIT + 512));
		calls++;
	}
	return calls;
}

enum ovt_simd_level test_level;

int run_at_levels(const char *name, const struct CMUnitTest *tests, size_t count)
{
	int failed = 0;

	for (int level = 0; level < OVT_SIMD_LEVELS; level++) {
		char group[64];

		test_level = (enum ovt_simd_level)level;
		snprintf(group, sizeof(group), "%s, %s", name, ovt_simd_level_name(test_level));
		if (ovt_simd_has(test_level))
			failed |= _cmocka_run_group_tests(group, tests, count, NULL, NULL);
		else
			printf("SKIPPED: %s: this CPU lacks the instructions\n", group);
	}
	return failed;
}

struct ovt_simd_scratch *new_scratch(void)
{
	struct ovt_simd_scratch *scratch = aligned_alloc(64, sizeof(*scratch));

	assert_non_null(scratch);
	memset(scratch, 0x5a, sizeof(*scratch));
	scratch->level = test_level;
	return scratch;
}

bool check_case(const struct random_job *job, struct ovt_simd_scratch *scratch, s64 budget)
{
	const struct ovt_region *out = &job->regions[JOB_OUT];
	struct ovt_operands operands = { 0 };
	u8 *before, *scalar;

	assert_int_equal(ovt_insn_check(&job->insn, job->regions, &operands), OVERTAKE_FAULT_NONE);
	if (!ovt_simd_covers(&job->insn))
		return false;
	before = random_job_copy_output(job);
	run_scalar(job, &operands);
	scalar = random_job_copy_output(job);
	memcpy(out->base, before, out->length);
	run_simd(job, &operands, scratch, budget);
	assert_memory_equal(out->base, scalar, out->length);
	free(before);
	free(scalar);
	return true;
}

void bind_anything(struct random_job *job, u32 region, u64 size, u32 flags, u64 *seed)
{
	u8 *base = malloc(size);

	assert_non_null(base);
	for (u64 i = 0; i < size; i++)
		base[i] = (u8)(random_next(seed) >> 40);
	job->regions[region] = (struct ovt_region){ .base = base, .length = size, .flags = flags };
}

void place_dense(struct random_job *job, struct overtake_operand *operand, u32 region, u32 height,
		 u32 width, u32 channels, u64 *seed)
{
	operand->region = region;
	operand->zero_point = (s32)random_between(seed, 0, 255) - 128;
	operand->height = height;
	operand->width = width;
	operand->channels = channels;
	operand->pixel_stride = (channels + 7) / 8 * 8 + 8 * (random_between(seed, 0, 3) == 0);
	operand->row_stride = width * operand->pixel_stride;
	bind_anything(job, region, (u64)(height - 1) * operand->row_stride +
				   (u64)(width - 1) * operand->pixel_stride + (channels + 7) / 8 * 8,
		      OVT_REGION_READ | (region == JOB_OUT ? OVT_REGION_WRITE : 0), seed);
}

s64 total_work(const struct random_job *job, const struct ovt_operands *operands,
	       struct ovt_simd_scratch *scratch)
{
	struct ovt_cursor cursor = { 0 };
	struct ovt_simd_section section;
	s64 work = INT64_MAX;

	assert_true(ovt_simd_begin(&section));
	assert_true(ovt_simd_run(&job->insn, operands, scratch, &cursor, &work));
	ovt_simd_end(&section);
	return INT64_MAX - work;
}
