// SPDX-License-Identifier: MIT
/* The twins of hw/simd against the scalar operators: the same bytes, whatever the budget. */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>

#include <ovt_simd_port.h>
#include "hw/operators.h"
#include "hw/simd/simd.h"
#include "random_job.h"

#define CASES	20000u

static const u16 opcodes[] = {
	OVERTAKE_OP_CONV, OVERTAKE_OP_DEPTHWISE, OVERTAKE_OP_MATMUL, OVERTAKE_OP_MAX_POOL,
	OVERTAKE_OP_AVERAGE_POOL, OVERTAKE_OP_ADD, OVERTAKE_OP_SUB, OVERTAKE_OP_MUL,
	OVERTAKE_OP_MAX, OVERTAKE_OP_MIN, OVERTAKE_OP_REQUANTISE, OVERTAKE_OP_TABLE,
	OVERTAKE_OP_RESIZE_BILINEAR,
};

#define OPCODES	((u32)(sizeof(opcodes) / sizeof(opcodes[0])))

static void run_scalar(const struct random_job *job, const struct ovt_operands *operands)
{
	struct ovt_cursor cursor = { 0 };
	s64 work = INT64_MAX;

	assert_true(ovt_operator_run(&job->insn, operands, &cursor, &work));
}

/* In calls with @budget; returns their number. */
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
		calls++;
	}
	return calls;
}

/* Of exactly its size, with anything in it. */
static struct ovt_simd_scratch *new_scratch(void)
{
	struct ovt_simd_scratch *scratch = aligned_alloc(64, sizeof(*scratch));

	assert_non_null(scratch);
	memset(scratch, 0x5a, sizeof(*scratch));
	return scratch;
}

/* True if the twin covered the case; its bytes are then the scalar operator's. */
static bool check_case(const struct random_job *job, struct ovt_simd_scratch *scratch, s64 budget)
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

static void test_random_cases_equal_scalar(void **state)
{
	struct ovt_simd_scratch *scratch = new_scratch();
	u32 covered = 0, cases[OPCODES] = { 0 };

	(void)state;
	for (u32 i = 0; covered < CASES; i++) {
		u64 seed = 0x517cc1b727220a95ull + i;
		struct random_job job;
		u32 which = i % OPCODES;

		random_job_init(&job, opcodes[which], &seed);
		if (check_case(&job, scratch, i % 2 ? INT64_MAX : 1 + i % 500)) {
			cases[which]++;
			covered++;
		}
		random_job_free(&job);
	}
	for (u32 which = 0; which < OPCODES; which++)
		print_message("opcode %u: %u cases, AVX2 equal to scalar\n", opcodes[which],
			      cases[which]);
	print_message("%u random cases, AVX2 equal to scalar\n", covered);
	free(scratch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_cases_equal_scalar),
	};

	if (!ovt_simd_supported()) {
		puts("this CPU has no AVX2: nothing to compare");
		return 77;
	}
	return cmocka_run_group_tests_name("simd", tests, NULL, NULL);
}
