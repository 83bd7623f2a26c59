// SPDX-License-Identifier: MIT
/* A fuzzer of the decoder: runs each instruction that it accepts, in regions of exact size. */
#include "cmocka_all.h"

#include <stdlib.h>

#include "hw/operators.h"
#include "hw/profile.h"
#include "random_job.h"

#define AT(field) offsetof(struct overtake_insn, field), sizeof(((struct overtake_insn *)0)->field)

static u32 check(const struct overtake_insn *insn, const struct ovt_region *regions)
{
	struct ovt_operands operands = { 0 };

	return ovt_insn_check(insn, regions, &operands);
}

static u64 interesting_value(u64 *state)
{
	static const u64 values[] = { 0, 1, 2, 3, 7, 8, 9, 16, 127, 128, 255, 256, 0x7fff, 0x8000,
				      0xffff, 1u << 24, 0x7fffffff, 0x80000000, 0xfffffff8,
				      0xffffffff, 1ull << 32, 1ull << 40, 1ull << 63, ~7ull, ~0ull };

	return values[random_next(state) % COUNT(values)];
}

/* The fields that bounds depend on: a small change of them is often still valid. */
static const struct {
	size_t offset;
	size_t size;
} shaping_fields[] = {
	{ AT(groups) }, { AT(out.offset) }, { AT(out.height) }, { AT(out.width) },
	{ AT(out.channels) }, { AT(out.row_stride) }, { AT(out.pixel_stride) },
	{ AT(in[0].region) }, { AT(in[0].offset) }, { AT(in[0].height) }, { AT(in[0].width) },
	{ AT(in[0].channels) }, { AT(in[0].row_stride) }, { AT(in[0].pixel_stride) },
	{ AT(in[1].region) }, { AT(in[1].offset) }, { AT(in[1].width) }, { AT(in[1].row_stride) },
	{ AT(weights_offset) }, { AT(params_offset) }, { AT(kernel_height) }, { AT(kernel_width) },
	{ AT(stride_height) }, { AT(stride_width) }, { AT(pad_top) }, { AT(pad_left) },
	{ AT(dilation_height) }, { AT(dilation_width) }, { AT(in[1].height) }, { AT(in[1].channels) },
	{ AT(out.type) }, { AT(in[0].type) }, { AT(in[1].type) },
	{ AT(start_y) }, { AT(start_x) }, { AT(step_y) }, { AT(step_x) }, { AT(axes) }, { AT(flags) },
};

static void mutate_shape(struct overtake_insn *insn, u64 *state)
{
	u32 i = random_between(state, 0, COUNT(shaping_fields) - 1);
	u32 step = random_between(state, 0, 1) ? 1 : 8;
	u64 value = 0;

	memcpy(&value, (u8 *)insn + shaping_fields[i].offset, shaping_fields[i].size);
	value += random_between(state, 0, 2) ? 0 - (u64)step : step;
	memcpy((u8 *)insn + shaping_fields[i].offset, &value, shaping_fields[i].size);
}

/* Changes an aligned word of 2, 4 or 8 bytes, rarely a reserved one. */
static void mutate_bytes(struct overtake_insn *insn, u64 *state)
{
	u32 size = 2u << random_between(state, 0, 2);
	u32 end = random_between(state, 0, 15) ? offsetof(struct overtake_insn, reserved) :
						 sizeof(*insn);
	u32 offset = random_between(state, 0, end / size - 1) * size;
	u64 value = 0;

	memcpy(&value, (u8 *)insn + offset, size);
	switch (random_between(state, 0, 3)) {
	case 0:
		value = interesting_value(state);
		break;
	case 1:
		value ^= 1ull << random_between(state, 0, 8 * size - 1);
		break;
	case 2:
		value += random_between(state, 0, 16) - 8ull;
		break;
	default:
		value = random_between(state, 0, 5);
	}
	memcpy((u8 *)insn + offset, &value, size);
}

/* Runs an accepted instruction to its end; it must not access memory outside its regions. */
static void run_accepted(const struct random_job *job, const struct ovt_operands *operands)
{
	struct ovt_cursor cursor = { 0 };
	s64 work = 37;

	while (!ovt_operator_run(&job->insn, operands, &cursor, &work))
		work = 1000;
}

static void test_mutated_instructions_stay_inside_their_regions(void **state)
{
	const struct ovt_profile *profile = ovt_profile_find("ideal");
	u32 accepted = 0, refused = 0;
	u64 seed = 20260101;

	(void)state;
	for (u32 i = 0; i < 100000; i++) {
		struct ovt_operands operands = { 0 };
		struct random_job job;
		u32 fault;

		random_job_init(&job, (u16)random_between(&seed, 1, OVERTAKE_OP_COUNT - 1), &seed);
		for (u32 n = random_between(&seed, 1, 2); n; n--)
			mutate_shape(&job.insn, &seed);
		if (!random_between(&seed, 0, 2))
			mutate_bytes(&job.insn, &seed);
		fault = ovt_insn_check(&job.insn, job.regions, &operands);
		if (fault) {
			assert_true(fault <= OVERTAKE_FAULT_SHAPE);
			refused++;
		} else {
			accepted++;
			assert_true(ovt_insn_cycles(profile, &job.insn) > 0);
			if (job.insn.opcode != OVERTAKE_OP_DELAY && job.insn.opcode != OVERTAKE_OP_JUMP)
				run_accepted(&job, &operands);
		}
		random_job_free(&job);
	}
	print_message("%u accepted, %u refused\n", accepted, refused);
	/* The fuzzer is useful only if it meets both kinds. */
	assert_true(accepted > 3000);
	assert_true(refused > 10000);
}

static void test_bounds_are_exact_for_any_shape(void **state)
{
	u64 seed = 7;

	(void)state;
	for (u32 i = 0; i < 20000; i++) {
		u16 opcode = (u16)random_between(&seed, 1, OVERTAKE_OP_COUNT - 1);
		struct random_job job;

		random_job_init(&job, opcode, &seed);
		assert_int_equal(check(&job.insn, job.regions), OVERTAKE_FAULT_NONE);
		for (u32 region = 0; region < OVERTAKE_MAX_REGIONS; region++) {
			if (!job.regions[region].length)
				continue;
			job.regions[region].length--;
			assert_int_equal(check(&job.insn, job.regions),
					 job.regions[region].length ? OVERTAKE_FAULT_BOUNDS :
								      OVERTAKE_FAULT_REGION);
			job.regions[region].length++;
		}
		random_job_free(&job);
	}
}

static void test_random_bytes_are_refused(void **state)
{
	struct random_job job;
	u64 seed = 99;

	(void)state;
	random_job_init(&job, OVERTAKE_OP_CONV, &seed);
	for (u32 i = 0; i < 20000; i++) {
		struct overtake_insn insn;

		for (size_t byte = 0; byte < sizeof(insn); byte++)
			((u8 *)&insn)[byte] = (u8)(random_next(&seed) >> 32);
		insn.opcode %= OVERTAKE_OP_COUNT;
		assert_int_not_equal(check(&insn, job.regions), OVERTAKE_FAULT_NONE);
	}
	random_job_free(&job);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mutated_instructions_stay_inside_their_regions),
		cmocka_unit_test(test_bounds_are_exact_for_any_shape),
		cmocka_unit_test(test_random_bytes_are_refused),
	};

	return cmocka_run_group_tests_name("decode_random", tests, NULL, NULL);
}
