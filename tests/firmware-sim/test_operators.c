// SPDX-License-Identifier: MIT
/* Every operator against the reference, whole and in pieces. */
#include "cmocka_all.h"

#include <math.h>
#include <stdlib.h>

#include "hw/operators.h"
#include "reference.h"

#define CASES_PER_OPCODE 1500

/* Returns the expected output region: new elements, and all other bytes as they are. */
static u8 *expected_output(const struct random_job *job)
{
	const struct overtake_operand *out = &job->insn.out;
	u8 *expected = random_job_copy_output(job);
	u32 size = reference_element_bytes(job);

	for (u32 y = 0; y < out->height; y++)
		for (u32 x = 0; x < out->width; x++)
			for (u32 c = 0; c < out->channels; c++)
				reference_element(job, y, x, c,
						  expected + out->offset + (u64)y * out->row_stride +
						  (u64)x * out->pixel_stride + size * c);
	return expected;
}

static struct ovt_operands check(const struct random_job *job)
{
	struct ovt_operands operands = { 0 };

	assert_int_equal(ovt_insn_check(&job->insn, job->regions, &operands), OVERTAKE_FAULT_NONE);
	return operands;
}

/* Runs @job with @budget for each call; returns the number of calls.  @spent: work of all calls. */
static u32 run_in_steps(const struct random_job *job, s64 budget, u64 *spent)
{
	struct ovt_operands operands = check(job);
	struct ovt_cursor cursor = { 0 };
	bool finished = false;
	u32 calls = 0;

	*spent = 0;
	while (!finished) {
		s64 work = budget;

		finished = ovt_operator_run(&job->insn, &operands, &cursor, &work);
		assert_true(work < budget);
		assert_true(finished || work <= 0);
		*spent += (u64)(budget - work);
		calls++;
	}
	return calls;
}

static void test_opcode_equals_reference(void **state)
{
	u16 opcode = *(const u16 *)*state;
	u64 seed = 0x9e3779b97f4a7c15ull + opcode;

	for (u32 i = 0; i < CASES_PER_OPCODE; i++) {
		struct random_job job;
		u8 *expected;
		u64 spent;

		random_job_init(&job, opcode, &seed);
		expected = expected_output(&job);
		assert_int_equal(run_in_steps(&job, INT64_MAX, &spent), 1);
		assert_memory_equal(job.regions[JOB_OUT].base, expected,
				    job.regions[JOB_OUT].length);
		assert_int_equal(spent, reference_work(&job));
		free(expected);
		random_job_free(&job);
	}
}

/* Checks that @job, paused after every @budget, writes the same bytes with the same work. */
static u32 assert_same_in_steps(struct random_job *job, const u8 *before, const u8 *whole,
				s64 budget, u64 work)
{
	u64 spent;
	u32 calls;

	memcpy(job->regions[JOB_OUT].base, before, job->regions[JOB_OUT].length);
	calls = run_in_steps(job, budget, &spent);
	assert_memory_equal(job->regions[JOB_OUT].base, whole, job->regions[JOB_OUT].length);
	assert_int_equal(spent, work);
	return calls;
}

static void test_opcode_is_the_same_in_steps_of_any_size(void **state)
{
	static const s64 budgets[] = { 1, 33, 64, 100, 1000, 5000 };
	u16 opcode = *(const u16 *)*state;
	u64 seed = 77 + opcode;

	for (u32 i = 0; i < 200; i++) {
		struct random_job job;
		u8 *before, *whole;
		u64 work;

		random_job_init(&job, opcode, &seed);
		before = random_job_copy_output(&job);
		run_in_steps(&job, INT64_MAX, &work);
		whole = random_job_copy_output(&job);
		for (u32 b = 0; b < COUNT(budgets); b++) {
			u32 calls = assert_same_in_steps(&job, before, whole, budgets[b], work);

			/* A budget of 1 takes at least one call for each pixel. */
			if (b == 0)
				assert_true(calls >= job.insn.out.height * job.insn.out.width);
		}
		free(before);
		free(whole);
		random_job_free(&job);
	}
}

#define SMALL_WORK 3000

/* Tries every budget up to the whole work, on the first six small instructions. */
static void test_opcode_is_the_same_at_every_budget(void **state)
{
	u16 opcode = *(const u16 *)*state;
	u64 seed = 990 + opcode;
	u32 small = 0;

	for (u32 i = 0; i < 2000 && small < 6; i++) {
		struct random_job job;
		u8 *before, *whole;
		u64 work;

		random_job_init(&job, opcode, &seed);
		before = random_job_copy_output(&job);
		run_in_steps(&job, INT64_MAX, &work);
		whole = random_job_copy_output(&job);
		if (work <= SMALL_WORK && work > OVT_UNIT_WORK_MIN) {
			small++;
			for (u64 budget = 1; budget <= work; budget++)
				assert_same_in_steps(&job, before, whole, (s64)budget, work);
		}
		free(before);
		free(whole);
		random_job_free(&job);
	}
	assert_int_equal(small, 6);
}

/* Parameters may hold anything: no shift is undefined, and a second run writes the same bytes. */
static void test_any_parameters_are_harmless(void **state)
{
	static const u16 opcodes[] = { OVERTAKE_OP_CONV, OVERTAKE_OP_DEPTHWISE, OVERTAKE_OP_MATMUL,
				       OVERTAKE_OP_AVERAGE_POOL, OVERTAKE_OP_TRANSPOSED_CONV,
				       OVERTAKE_OP_NV12 };
	u64 seed = 4242;

	(void)state;
	for (u32 i = 0; i < 600; i++) {
		struct random_job job;
		struct ovt_region *params;
		u8 *first;
		u64 spent;

		random_job_init(&job, opcodes[i % 6], &seed);
		params = &job.regions[JOB_PARAMS];
		for (u64 byte = 0; byte < params->length; byte++)
			params->base[byte] = (u8)(random_next(&seed) >> 33);
		run_in_steps(&job, INT64_MAX, &spent);
		first = random_job_copy_output(&job);
		run_in_steps(&job, 1, &spent);
		assert_memory_equal(job.regions[JOB_OUT].base, first, job.regions[JOB_OUT].length);
		free(first);
		random_job_free(&job);
	}
}

static void test_requantise_rounds_exactly(void **state)
{
	u64 seed = 31337;

	(void)state;
	for (u32 i = 0; i < 300000; i++) {
		s32 acc = (s32)((s64)random_next(&seed) >> (32 + random_between(&seed, 0, 31)));
		u32 multiplier = random_between(&seed, 0, OVERTAKE_MULTIPLIER_MAX);
		u32 shift = random_between(&seed, OVERTAKE_SHIFT_MIN, OVERTAKE_SHIFT_MAX);

		assert_int_equal(ovt_requantise(acc, multiplier, shift),
				 reference_round((__int128)acc * multiplier, shift));
	}
}

/* Returns a colour by the definition of BT.601: luma 0.299, 0.587, 0.114; factors to 2^-13. */
static s64 colour(u32 channel, s64 y, s64 u, s64 v, bool full)
{
	const long double kr = 0.299L, kb = 0.114L, kg = 1 - kr - kb;
	long double chroma = full ? 1 : 255.0L / 224;
	s64 luma = full ? 8192 * y : llroundl(8192 * 255.0L / 219) * (y - 16);
	s64 sum = luma;

	if (channel == 0)
		sum += llroundl(8192 * 2 * (1 - kr) * chroma) * v;
	if (channel == 1)
		sum -= llroundl(8192 * 2 * (1 - kb) * kb / kg * chroma) * u +
		       llroundl(8192 * 2 * (1 - kr) * kr / kg * chroma) * v;
	if (channel == 2)
		sum += llroundl(8192 * 2 * (1 - kb) * chroma) * u;
	sum = llroundl(floorl((sum + 4096) / 8192.0L));
	return sum < 0 ? 0 : sum > 255 ? 255 : sum;
}

#define SIDE 512u	/* side of a picture with every pair of chroma values */

static u8 luma_at(u32 y, u32 x)
{
	return (u8)(7 * y + 13 * x + (y / 2 ^ x / 2));
}

/* Converts with NEAREST, so that each pixel keeps its values; outputs are colours minus 128. */
static void picture_run(u8 *memory, u8 *out, bool full)
{
	struct overtake_insn insn = {
		.opcode = OVERTAKE_OP_NV12, .clamp_min = -128, .clamp_max = 127,
		.flags = OVERTAKE_FLAG_NEAREST | (full ? OVERTAKE_FLAG_FULL_RANGE : 0),
		.step_y = 1 << 20, .step_x = 1 << 20, .params_region = 3,
		.out = { .region = 4, .height = SIDE, .width = SIDE, .channels = 3,
			 .pixel_stride = 8, .row_stride = 8 * SIDE },
		.in = { { .region = 1, .height = SIDE, .width = SIDE, .channels = 1,
			  .pixel_stride = 1, .row_stride = SIDE },
			{ .region = 2, .height = SIDE / 2, .width = SIDE / 2, .channels = 2,
			  .pixel_stride = 2, .row_stride = SIDE } },
	};
	u32 params[24];
	struct ovt_region regions[OVERTAKE_MAX_REGIONS] = {
		[1] = { memory, SIDE * SIDE, OVT_REGION_READ, 0 },
		[2] = { memory + SIDE * SIDE, SIDE * SIDE / 2, OVT_REGION_READ, 0 },
		[3] = { (u8 *)params, sizeof(params), OVT_REGION_READ, 0 },
		[4] = { out, 8 * SIDE * SIDE, OVT_REGION_WRITE, 0 },
	};
	struct ovt_operands operands = { 0 };
	struct ovt_cursor cursor = { 0 };
	s64 work = INT64_MAX;

	for (u32 i = 0; i < 8; i++) {
		params[i] = (u32)-128;
		params[8 + i] = 2;
		params[16 + i] = 1;
	}
	assert_int_equal(ovt_insn_check(&insn, regions, &operands), OVERTAKE_FAULT_NONE);
	assert_true(ovt_operator_run(&insn, &operands, &cursor, &work));
}

static void test_every_chroma_becomes_its_colour(void **state)
{
	u8 *memory = malloc(SIDE * SIDE * 3 / 2), *out = malloc(8 * SIDE * SIDE);

	(void)state;
	for (u32 i = 0; i < SIDE * SIDE; i++)
		memory[i] = luma_at(i / SIDE, i % SIDE);
	for (u32 i = 0; i < SIDE * SIDE / 4; i++) {
		memory[SIDE * SIDE + 2 * i] = (u8)(i / (SIDE / 2));
		memory[SIDE * SIDE + 2 * i + 1] = (u8)i;
	}
	for (u32 full = 0; full < 2; full++) {
		picture_run(memory, out, full);
		for (u32 i = 0; i < SIDE * SIDE; i++) {
			u32 y = i / SIDE, x = i % SIDE;
			s64 u = (s64)y / 2 - 128, v = (s64)x / 2 - 128;

			for (u32 c = 0; c < 3; c++)
				assert_int_equal((s8)out[8 * i + c] + 128,
						 colour(c, luma_at(y, x), u, v, full));
		}
	}
	free(memory);
	free(out);
}

#define FAR_STRIDE	65521u	/* a prime: any tap may be the only one */

/* Returns an output that @tap alone reaches, of FAR_STRIDE taps. */
static s8 reached_by(u32 tap, u32 dilation, u32 pad, s8 *weights, const u32 *params)
{
	struct overtake_insn insn = {
		.opcode = OVERTAKE_OP_TRANSPOSED_CONV, .clamp_min = -128, .clamp_max = 127,
		.kernel_height = FAR_STRIDE, .kernel_width = 1, .stride_height = FAR_STRIDE,
		.stride_width = 1, .dilation_height = (u16)dilation, .pad_top = (u16)pad,
		.groups = 1, .weights_region = 1, .params_region = 2,
		.in = { { .region = 3, .height = 0xffff, .width = 1, .channels = 1,
			  .pixel_stride = 8, .row_stride = 8 } },
		.out = { .region = 4, .height = 1, .width = 1, .channels = 1, .pixel_stride = 8,
			 .row_stride = 8 },
	};
	static s8 in[8 * 0xffff];
	s8 out[8] = { 0 };
	struct ovt_region regions[OVERTAKE_MAX_REGIONS] = {
		[1] = { (u8 *)weights, 16 * FAR_STRIDE, OVT_REGION_READ, 0 },
		[2] = { (u8 *)params, 96, OVT_REGION_READ, 0 },
		[3] = { (u8 *)in, sizeof(in), OVT_REGION_READ, 0 },
		[4] = { (u8 *)out, sizeof(out), OVT_REGION_WRITE, 0 },
	};
	struct ovt_operands operands = { 0 };
	struct ovt_cursor cursor = { 0 };
	s64 work = INT64_MAX;

	memset(in, 1, sizeof(in));
	weights[16 * tap] = 5;
	assert_int_equal(ovt_insn_check(&insn, regions, &operands), OVERTAKE_FAULT_NONE);
	assert_true(ovt_operator_run(&insn, &operands, &cursor, &work));
	weights[16 * tap] = 0;
	/* The work of finding a tap does not depend on its place. */
	assert_int_equal(INT64_MAX - work, 128 + 8);
	return out[0];
}

static void test_transposed_finds_the_only_tap(void **state)
{
	s8 *weights = calloc(FAR_STRIDE, 16);
	u32 params[24] = { [8] = 2, [16] = 1 };

	(void)state;
	assert_non_null(weights);
	for (u32 pad = 0; pad < FAR_STRIDE; pad += 257) {
		assert_int_equal(reached_by(pad, 1, pad, weights, params), 5);
		if (pad % 2 == 0)
			assert_int_equal(reached_by(pad / 2, 2, pad, weights, params), 5);
	}
	free(weights);
}

struct rounding_row {
	const char *description;
	s32 acc;
	u32 multiplier;
	u32 shift;
	s64 result;
};

static const struct rounding_row rounding_rows[] = {
	{ "half goes to even below", 1, 1, 1, 0 },
	{ "one and a half goes to even above", 3, 1, 1, 2 },
	{ "two and a half goes to even below", 5, 1, 1, 2 },
	{ "minus a half goes to 0", -1, 1, 1, 0 },
	{ "minus one and a half goes to -2", -3, 1, 1, -2 },
	{ "minus two and a half goes to -2", -5, 1, 1, -2 },
	{ "just above a half", 513, 1, 10, 1 },
	{ "just below minus a half", -513, 1, 10, -1 },
	{ "just above minus a half", -511, 1, 10, 0 },
	{ "the tie of a large shift", 1 << 30, 1 << 23, 54, 0 },
	{ "the next tie of a large shift", 3 << 29, 1 << 23, 53, 2 },
	{ "least accumulator", INT32_MIN, OVERTAKE_MULTIPLIER_MAX, 1,
	  -((1ll << 30) * OVERTAKE_MULTIPLIER_MAX) },
	{ "everything shifted out", INT32_MIN, OVERTAKE_MULTIPLIER_MAX, 62, 0 },
	{ "zero multiplier", 12345, 0, 7, 0 },
};

static void test_requantise_rows(void **state)
{
	(void)state;
	for (u32 i = 0; i < COUNT(rounding_rows); i++) {
		const struct rounding_row *row = &rounding_rows[i];

		if (ovt_requantise(row->acc, row->multiplier, row->shift) != row->result)
			fail_msg("%s", row->description);
	}
}

/* Arguments of the tests: one for each opcode. */
static u16 opcodes[OVERTAKE_OP_COUNT];

#define OPCODE_TESTS(name)                                                                         \
	{ #name " equals reference", test_opcode_equals_reference, NULL, NULL,                     \
	  &opcodes[OVERTAKE_OP_##name] },                                                          \
	{ #name " in steps", test_opcode_is_the_same_in_steps_of_any_size, NULL, NULL,             \
	  &opcodes[OVERTAKE_OP_##name] },                                                          \
	{ #name " at every budget", test_opcode_is_the_same_at_every_budget, NULL, NULL,           \
	  &opcodes[OVERTAKE_OP_##name] }

int main(void)
{
	const struct CMUnitTest tests[] = {
		OPCODE_TESTS(CONV),
		OPCODE_TESTS(DEPTHWISE),
		OPCODE_TESTS(MATMUL),
		OPCODE_TESTS(ADD),
		OPCODE_TESTS(MAX_POOL),
		OPCODE_TESTS(AVERAGE_POOL),
		OPCODE_TESTS(TABLE),
		OPCODE_TESTS(COPY),
		OPCODE_TESTS(SUB),
		OPCODE_TESTS(MUL),
		OPCODE_TESTS(MAX),
		OPCODE_TESTS(MIN),
		OPCODE_TESTS(REQUANTISE),
		OPCODE_TESTS(TRANSPOSED_CONV),
		OPCODE_TESTS(PAD),
		OPCODE_TESTS(PERMUTE),
		OPCODE_TESTS(DEPTH_TO_SPACE),
		OPCODE_TESTS(SPACE_TO_DEPTH),
		OPCODE_TESTS(RESIZE_NEAREST),
		OPCODE_TESTS(RESIZE_BILINEAR),
		OPCODE_TESTS(REDUCE_SUM),
		OPCODE_TESTS(REDUCE_MAX),
		OPCODE_TESTS(REDUCE_MIN),
		OPCODE_TESTS(QUANTISE),
		OPCODE_TESTS(DEQUANTISE),
		OPCODE_TESTS(NV12),
		cmocka_unit_test(test_any_parameters_are_harmless),
		cmocka_unit_test(test_requantise_rounds_exactly),
		cmocka_unit_test(test_requantise_rows),
		cmocka_unit_test(test_every_chroma_becomes_its_colour),
		cmocka_unit_test(test_transposed_finds_the_only_tap),
	};

	for (u16 i = 0; i < OVERTAKE_OP_COUNT; i++)
		opcodes[i] = i;
	return cmocka_run_group_tests_name("operators", tests, NULL, NULL);
}
