// SPDX-License-Identifier: MIT
/*
 * Sums that a float cannot hold, although it can hold their biases.  A vector operator that took
 * them for smaller than they are would round them twice.
 */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ovt_simd_port.h>
#include "hw/operator_units.h"
#include "random_job.h"
#include "simd_case.h"

/*
 * Makes inputs as large as they can be.  Each sum of a whole window is 2^24 + 3 * 2^16 - 1, just
 * below a tie; as a float it would be a tie.  Its bias alone is below 2^24.
 */
static bool greatest_sums(struct random_job *job)
{
	struct overtake_insn *insn = &job->insn;
	u32 padded = (insn->out.channels + 7) / 8 * 8;
	u32 taps = insn->kernel_height * insn->kernel_width;
	s32 weight = (s32)(0x2ffff / (255 * taps)) + 1;
	u8 *params = job->regions[JOB_PARAMS].base + insn->params_offset;
	u32 words[3] = { (1u << 24) + 0x2ffff - 255 * taps * (u32)weight, 1u << 23, 40 };

	if (weight > 127 || ovt_insn_is_wide(insn))
		return false;
	insn->in[0].zero_point = -128;
	insn->out.zero_point = -128;
	insn->clamp_min = -128;
	insn->clamp_max = 127;
	memset(job->regions[insn->in[0].region].base, 127,
	       job->regions[insn->in[0].region].length);
	memset(job->regions[insn->weights_region].base + insn->weights_offset, weight,
	       (size_t)taps * padded);
	for (u32 output = 0; output < padded; output++)
		for (u32 word = 0; word < 3; word++)
			memcpy(params + 4 * (word * padded + output), &words[word], 4);
	return true;
}

static void test_greatest_sums_equal_scalar(void **state)
{
	struct ovt_simd_scratch *scratch = new_scratch();
	u32 covered = 0;

	(void)state;
	for (u32 i = 0; i < 4000; i++) {
		u64 seed = 0x9e3779b97f4a7c15ull + i;
		struct random_job job;

		random_job_init(&job, OVERTAKE_OP_DEPTHWISE, &seed);
		if (greatest_sums(&job))
			covered += check_case(&job, scratch, INT64_MAX);
		random_job_free(&job);
	}
	print_message("%u cases of greatest sums\n", covered);
	assert_true(covered > 500);
	free(scratch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_greatest_sums_equal_scalar),
	};

	if (!ovt_simd_supported()) {
		puts("SKIPPED: this CPU has no AVX2");
		return 77;
	}
	return run_at_levels("simd_sums", tests, COUNT(tests));
}
