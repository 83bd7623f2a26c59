// SPDX-License-Identifier: MIT
/* Operands of 16 bits: scalar operators against the reference, vector ones against scalar ones. */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>

#include <ovt_simd_port.h>
#include "reference.h"
#include "simd_case.h"

#define CASES	20000u
#define OP(name) OVERTAKE_OP_##name

static void assert_equal_to_reference(const struct random_job *job)
{
	const struct overtake_operand *out = &job->insn.out;
	const u8 *base = job->regions[JOB_OUT].base + out->offset;
	u32 size = reference_element_bytes(job);

	for (u32 y = 0; y < out->height; y++)
		for (u32 x = 0; x < out->width; x++)
			for (u32 c = 0; c < out->channels; c++) {
				const u8 *at = base + (u64)y * out->row_stride +
					       (u64)x * out->pixel_stride + (u64)c * size;
				u8 expected[4];

				reference_element(job, y, x, c, expected);
				if (memcmp(at, expected, size))
					fail_msg("opcode %u: element (%u, %u, %u)", job->insn.opcode,
						 y, x, c);
			}
}

static struct ovt_operands run_scalar(const struct random_job *job)
{
	struct ovt_operands operands = { 0 };
	struct ovt_cursor cursor = { 0 };
	s64 work = INT64_MAX;

	assert_int_equal(ovt_insn_check(&job->insn, job->regions, &operands), OVERTAKE_FAULT_NONE);
	assert_true(ovt_operator_run(&job->insn, &operands, &cursor, &work));
	return operands;
}

static bool vectors_work(void)
{
	return ovt_simd_supported();
}

static void test_random_cases_equal_the_reference(void **state)
{
	struct ovt_simd_scratch *scratch = new_scratch();
	u32 cases[OVERTAKE_OP_COUNT] = { 0 }, by_vectors[OVERTAKE_OP_COUNT] = { 0 }, wide = 0;

	(void)state;
	for (u32 i = 0; wide < CASES; i++) {
		u64 seed = 0x9e3779b97f4a7c15ull + i;
		u16 opcode = (u16)(1 + i % (OVERTAKE_OP_COUNT - 1));
		struct random_job job;

		random_job_init(&job, opcode, &seed);
		if (ovt_insn_is_wide(&job.insn)) {
			run_scalar(&job);
			assert_equal_to_reference(&job);
			wide++;
			cases[opcode]++;
			by_vectors[opcode] += vectors_work() &&
				check_case(&job, scratch, i % 2 ? INT64_MAX : 1 + i % 500);
		}
		random_job_free(&job);
	}
	for (u16 opcode = 1; opcode < OVERTAKE_OP_COUNT; opcode++) {
		printf("opcode %u: %u cases, %u by vectors too\n", opcode, cases[opcode],
		       by_vectors[opcode]);
		/* Pictures, delays and jumps have no operands of 16 bits. */
		if (opcode != OP(NV12) && opcode != OP(DELAY) && opcode != OP(JUMP))
			assert_true(cases[opcode] >= CASES / OVERTAKE_OP_COUNT / 2);
	}
	if (vectors_work()) {
		assert_true(by_vectors[OP(CONV)] > 700);
		assert_true(by_vectors[OP(DEPTHWISE)] > 700);
		assert_true(by_vectors[OP(MATMUL)] > 150);
		assert_true(by_vectors[OP(ADD)] > 100 && by_vectors[OP(SUB)] > 100);
		assert_true(by_vectors[OP(MAX)] > 100 && by_vectors[OP(MIN)] > 100);
		assert_true(by_vectors[OP(MUL)] > 60);
		assert_true(by_vectors[OP(REQUANTISE)] > 300);
	}
	free(scratch);
}

/* Sets every element of @bytes to @value. */
static void fill_words(u8 *bytes, u64 count, s16 value)
{
	for (u64 i = 0; i < count; i++)
		memcpy(bytes + 2 * i, &value, sizeof(value));
}

static struct overtake_operand row_of(u32 region, u32 width, u32 channels, u32 type)
{
	u32 pixel = (channels + 7) / 8 * 8 * (type ? 2 : 1);

	return (struct overtake_operand){ .region = region, .height = 1, .width = width,
					  .channels = channels, .pixel_stride = pixel,
					  .row_stride = width * pixel, .type = type };
}

/* The greatest sums of one sign fit, and no order of addition loses bits. */
static void check_greatest_sum(u16 opcode, s16 in, s16 factor, s32 bias)
{
	const u32 count = OVERTAKE_MAX_INT16_PRODUCTS;
	struct random_job job = { .insn = { .opcode = opcode, .clamp_min = -32768,
					    .clamp_max = 32767, .params_region = JOB_PARAMS } };
	struct ovt_simd_scratch *scratch = new_scratch();
	u32 words[3 * 8] = { 0 };
	u64 seed = 1;

	job.insn.in[0] = row_of(JOB_IN0, 1, count, OVERTAKE_TYPE_INT16);
	job.insn.out = row_of(JOB_OUT, 1, 8, OVERTAKE_TYPE_INT16);
	bind_anything(&job, JOB_IN0, 2ull * count, OVT_REGION_READ, &seed);
	bind_anything(&job, JOB_OUT, 16, OVT_REGION_READ | OVT_REGION_WRITE, &seed);
	bind_anything(&job, JOB_PARAMS, sizeof(words), OVT_REGION_READ, &seed);
	fill_words(job.regions[JOB_IN0].base, count, in);
	if (opcode == OP(CONV)) {
		job.insn.groups = job.insn.kernel_height = job.insn.kernel_width = 1;
		job.insn.stride_height = job.insn.stride_width = 1;
		job.insn.weights_region = JOB_WEIGHTS;
		bind_anything(&job, JOB_WEIGHTS, 8ull * count, OVT_REGION_READ, &seed);
		memset(job.regions[JOB_WEIGHTS].base, (u8)factor, 8ull * count);
		job.dense = malloc(8ull * count);
		assert_non_null(job.dense);
		memset(job.dense, (u8)factor, 8ull * count);
	} else {
		job.insn.in[1] = row_of(JOB_IN1, 8, count, OVERTAKE_TYPE_INT16);
		bind_anything(&job, JOB_IN1, 16ull * count, OVT_REGION_READ, &seed);
		fill_words(job.regions[JOB_IN1].base, 8ull * count, factor);
	}
	for (u32 channel = 0; channel < 8; channel++) {
		words[channel] = (u32)bias;
		words[8 + channel] = OVERTAKE_MULTIPLIER_MAX - channel;
		words[16 + channel] = 46 + channel % 3;
	}
	memcpy(job.regions[JOB_PARAMS].base, words, sizeof(words));
	run_scalar(&job);
	assert_equal_to_reference(&job);
	if (vectors_work())
		check_case(&job, scratch, 1000);
	free(scratch);
	random_job_free(&job);
}

static void test_the_greatest_sums_fit(void **state)
{
	(void)state;
	check_greatest_sum(OP(CONV), -32768, -128, INT32_MAX);
	check_greatest_sum(OP(CONV), -32768, 127, INT32_MIN);
	check_greatest_sum(OP(CONV), 32767, 127, INT32_MAX);
	check_greatest_sum(OP(MATMUL), -32768, -32768, INT32_MAX);
	check_greatest_sum(OP(MATMUL), -32768, 32767, INT32_MIN);
	check_greatest_sum(OP(MATMUL), 32767, 32767, 0);
	check_greatest_sum(OP(MATMUL), 32767, 128, 0);
	check_greatest_sum(OP(MATMUL), 32767, -129, 0);
}

/* Makes in[0] of all 65536 elements: 256 pixels of 256 channels. */
static void every_element(struct random_job *job, u32 out_type, u32 out_bytes)
{
	u64 seed = 7;

	job->insn.in[0] = row_of(JOB_IN0, 256, 256, OVERTAKE_TYPE_INT16);
	job->insn.out = row_of(JOB_OUT, 256, 256, out_type);
	job->insn.out.pixel_stride = 256 * out_bytes;
	job->insn.out.row_stride = 65536 * out_bytes;
	bind_anything(job, JOB_IN0, 2 * 65536, OVT_REGION_READ, &seed);
	bind_anything(job, JOB_OUT, 65536ull * out_bytes, OVT_REGION_READ | OVT_REGION_WRITE, &seed);
	for (u32 i = 0; i < 65536; i++) {
		s16 value = (s16)i;

		memcpy(job->regions[JOB_IN0].base + 2 * i, &value, 2);
	}
}

/* DEQUANTISE returns, for every element, the same float as a multiplication of floats. */
static void test_floats_are_elements_times_their_scale(void **state)
{
	static const u32 multipliers[] = { 1, 3, 0x7fffff, 0x800001, 0xffffff, 0xabcdef };
	static const u32 shifts[] = { 1, 15, 24, 40, 62 };

	(void)state;
	for (u32 i = 0; i < COUNT(multipliers) * COUNT(shifts); i++) {
		struct random_job job = { .insn = { .opcode = OP(DEQUANTISE) } };

		job.insn.multiplier[0] = multipliers[i / COUNT(shifts)];
		job.insn.shift[0] = shifts[i % COUNT(shifts)];
		every_element(&job, OVERTAKE_TYPE_INT8, 4);
		run_scalar(&job);
		for (u32 element = 0; element < 65536; element++) {
			float scale = (float)multipliers[i / COUNT(shifts)] /
				      (float)(1ull << shifts[i % COUNT(shifts)]);
			float expected = (float)(s16)element * scale, found;

			memcpy(&found, job.regions[JOB_OUT].base + 4 * element, 4);
			if (memcmp(&found, &expected, 4) && (found != 0 || expected != 0))
				fail_msg("%d: %a instead of %a", (s16)element, found, expected);
		}
		random_job_free(&job);
	}
}

/* Each element finds the entry of a table that has its number. */
static void test_a_table_has_an_entry_for_each_element(void **state)
{
	struct random_job job = { .insn = { .opcode = OP(TABLE), .weights_region = JOB_WEIGHTS } };
	u64 seed = 5;

	(void)state;
	every_element(&job, OVERTAKE_TYPE_INT16, 2);
	bind_anything(&job, JOB_WEIGHTS, 2 * 65536, OVT_REGION_READ, &seed);
	run_scalar(&job);
	for (u32 i = 0; i < 65536; i++)
		assert_memory_equal(job.regions[JOB_OUT].base + 2 * i,
				    job.regions[JOB_WEIGHTS].base + 2 * i, 2);
	random_job_free(&job);
}

/* A sum of products is divided by 256, and halves are rounded to the even number. */
static void test_products_of_16_bits_are_rounded_to_even(void **state)
{
	static const struct { s16 a, b; s16 result; } rows[] = {
		{ 1, 128, 0 }, { 3, 128, 2 }, { 1, 127, 0 }, { 1, 129, 1 }, { -1, 128, 0 },
		{ -3, 128, -2 }, { -5, 128, -2 }, { 100, 256, 100 },
	};

	(void)state;
	for (u32 i = 0; i < COUNT(rows); i++) {
		struct random_job job = { .insn = { .opcode = OP(MATMUL), .clamp_min = -32768,
						    .clamp_max = 32767,
						    .params_region = JOB_PARAMS } };
		/* The multiplier is 2 and the shift 1. */
		u32 words[24] = { [8] = 2, [16] = 1 };
		u64 seed = 3;
		s16 found;

		job.insn.in[0] = row_of(JOB_IN0, 1, 1, OVERTAKE_TYPE_INT16);
		job.insn.in[1] = row_of(JOB_IN1, 1, 1, OVERTAKE_TYPE_INT16);
		job.insn.out = row_of(JOB_OUT, 1, 1, OVERTAKE_TYPE_INT16);
		bind_anything(&job, JOB_IN0, 16, OVT_REGION_READ, &seed);
		bind_anything(&job, JOB_IN1, 16, OVT_REGION_READ, &seed);
		bind_anything(&job, JOB_OUT, 16, OVT_REGION_READ | OVT_REGION_WRITE, &seed);
		bind_anything(&job, JOB_PARAMS, sizeof(words), OVT_REGION_READ, &seed);
		memcpy(job.regions[JOB_IN0].base, &rows[i].a, 2);
		memcpy(job.regions[JOB_IN1].base, &rows[i].b, 2);
		memcpy(job.regions[JOB_PARAMS].base, words, sizeof(words));
		run_scalar(&job);
		memcpy(&found, job.regions[JOB_OUT].base, 2);
		assert_int_equal(found, rows[i].result);
		random_job_free(&job);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_cases_equal_the_reference),
		cmocka_unit_test(test_the_greatest_sums_fit),
		cmocka_unit_test(test_floats_are_elements_times_their_scale),
		cmocka_unit_test(test_a_table_has_an_entry_for_each_element),
		cmocka_unit_test(test_products_of_16_bits_are_rounded_to_even),
	};

	return cmocka_run_group_tests_name("int16", tests, NULL, NULL);
}
