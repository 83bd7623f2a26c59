// SPDX-License-Identifier: MIT
/*
 * Units of work of the operators that use VNNI: what they count, and shapes at which they begin or
 * end.  The work of AVX2 is in test_simd_work.c.
 */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>

#include <ovt_simd_port.h>
#include "simd_case.h"

static void only(enum ovt_simd_level least, enum ovt_simd_level most)
{
	if (test_level < least || test_level > most)
		skip();
}

static struct overtake_insn window_insn(u16 opcode, u16 kernel_height, u16 kernel_width, u16 stride)
{
	return (struct overtake_insn){ .opcode = opcode,
				       .groups = opcode == OVERTAKE_OP_CONV,
				       .kernel_height = kernel_height,
				       .kernel_width = kernel_width,
				       .stride_height = stride,
				       .stride_width = stride,
				       .clamp_min = -128,
				       .clamp_max = 127,
				       .weights_region = JOB_WEIGHTS,
				       .params_region = JOB_PARAMS };
}

/* Places a tensor without gaps. */
static void place(struct random_job *job, struct overtake_operand *operand, u32 region, u32 height,
		  u32 width, u32 channels, u64 *seed)
{
	place_dense(job, operand, region, height, width, channels, seed);
	operand->pixel_stride = (channels + 7) / 8 * 8;
	operand->row_stride = width * operand->pixel_stride;
}

/* Binds weights of anything, and parameters with which floats are exact, or doubles are needed. */
static void bind_constants(struct random_job *job, bool doubles, u64 *seed)
{
	u32 padded = (job->insn.out.channels + 7) / 8 * 8;
	u32 *params;

	if (ovt_insn_weights_bytes(&job->insn))
		bind_anything(job, JOB_WEIGHTS, ovt_insn_weights_bytes(&job->insn), OVT_REGION_READ,
			      seed);
	bind_anything(job, JOB_PARAMS, ovt_insn_params_bytes(&job->insn), OVT_REGION_READ, seed);
	params = (u32 *)job->regions[JOB_PARAMS].base;
	for (u32 output = 0; output < padded; output++) {
		params[output] = (u32)random_between(seed, 0, 2000) - 1000;
		params[padded + output] = (u32)random_between(seed, 1u << 22, 1u << 23);
		params[2 * padded + output] = 23 + 11;
	}
	if (doubles)
		params[random_between(seed, 0, job->insn.out.channels - 1)] = 1u << 30;
}

static s64 work_of(const struct random_job *job)
{
	struct ovt_simd_scratch *scratch = new_scratch();
	struct ovt_operands operands = { 0 };
	s64 work;

	assert_int_equal(ovt_insn_check(&job->insn, job->regions, &operands), 0);
	work = total_work(job, &operands, scratch);
	free(scratch);
	return work;
}

/* Rows of more pixels than a unit has, and pixels of more bytes than a vector has. */
static void test_copies_equal_scalar(void **state)
{
	struct ovt_simd_scratch *scratch = new_scratch();

	(void)state;
	for (u32 i = 0; i < 300; i++) {
		u64 seed = 0xd6e8feb86659fd93ull + i;
		u32 width = random_between(&seed, 1, 200), size = 1 + i % 2;
		u32 channels = random_between(&seed, 1, i % 7 ? 70 : 5000);
		struct random_job job = { .insn = { .opcode = OVERTAKE_OP_COPY } };
		struct overtake_operand *operands[] = { &job.insn.out, &job.insn.in[0] };

		for (u32 o = 0; o < 2; o++) {
			struct overtake_operand *operand = operands[o];

			*operand = (struct overtake_operand){ .region = o ? JOB_IN0 : JOB_OUT,
							      .height = 2, .width = width,
							      .channels = channels,
							      .type = (u8)(size - 1) };
			operand->pixel_stride = (channels * size + 7) / 8 * 8 +
						8 * random_between(&seed, 0, i % 3);
			operand->row_stride = width * operand->pixel_stride +
					      8 * random_between(&seed, 0, 3);
			bind_anything(&job, operand->region,
				      operand->row_stride + (u64)width * operand->pixel_stride,
				      OVT_REGION_READ | (o ? 0 : OVT_REGION_WRITE), &seed);
		}
		assert_true(check_case(&job, scratch, i % 3 ? INT64_MAX : 1 + i % 50));
		random_job_free(&job);
	}
	free(scratch);
}

/* Filling a row, and 6 for each pixel of 64 channels. */
#define FILL(rows, pixels)	((rows) * (20 + 6 * (pixels)))

static void test_conv_counts_its_work(void **state)
{
	/* Packing is as slow as the weights come from memory: 64 * 16 bytes, 8 in a nanosecond. */
	const s64 pack = 20 + 128, pixel = 10 + 64 * 8 / 32;
	struct random_job job = { .insn = window_insn(OVERTAKE_OP_CONV, 1, 1, 1) };
	u64 seed = 1;

	(void)state;
	only(OVT_SIMD_AVX_VNNI, OVT_SIMD_AVX512_VBMI);
	place(&job, &job.insn.out, JOB_OUT, 1, 7, 32, &seed);
	place(&job, &job.insn.in[0], JOB_IN0, 1, 7, 64, &seed);
	bind_constants(&job, false, &seed);
	/* Two blocks of 16 outputs: together in one row, or each in strips of 4 and 3 pixels. */
	if (test_level == OVT_SIMD_AVX_VNNI)
		assert_int_equal(work_of(&job),
				 FILL(1, 7) + 2 * (pack + 60 + 2 * 20 + 7 * pixel));
	else
		assert_int_equal(work_of(&job), FILL(1, 7) + 2 * pack + 60 + 20 + 7 * pixel);
	random_job_free(&job);
}

static void test_depthwise_counts_its_work(void **state)
{
	u64 seed = 2;

	(void)state;
	only(OVT_SIMD_AVX512_VNNI, OVT_SIMD_AVX512_VBMI);
	for (u32 i = 0; i < 2; i++) {
		/* Rows are 10, pixels 12; loading 64 channels is four times 60, loading 16 is 60. */
		const s64 rows = 2 * (10 + 5 * 12), weights = 4 * 6;
		struct random_job job = { .insn = window_insn(OVERTAKE_OP_DEPTHWISE, 3, 3, 1) };

		place(&job, &job.insn.out, JOB_OUT, 2, 5, 64, &seed);
		place(&job, &job.insn.in[0], JOB_IN0, 4, 7, 64, &seed);
		bind_constants(&job, i == 1, &seed);
		/* With doubles, each 16 channels try all 64 that are left of the 64 first. */
		if (i == 0)
			assert_int_equal(work_of(&job), 240 + weights + rows);
		else
			assert_int_equal(work_of(&job), 4 * (240 + 60 + weights + rows));
		random_job_free(&job);
	}
}

/* Outputs of the size of bytes, mostly with floats; windows reach over each edge of the tensor. */
static void test_wide_depthwise_equals_scalar(void **state)
{
	struct ovt_simd_scratch *scratch = new_scratch();

	(void)state;
	for (u32 i = 0; i < 400; i++) {
		u64 seed = 0xa0761d6478bd642full + i;
		u16 taps = i % 2 ? 3 : 5, stride = i / 2 % 2 ? 1 : 2;
		u32 channels = random_between(&seed, 30, i % 5 ? 70 : 200);
		u32 height = random_between(&seed, 1, 9), width = random_between(&seed, 1, 12);
		struct random_job job = { .insn = window_insn(OVERTAKE_OP_DEPTHWISE, taps, taps,
							      stride) };
		struct overtake_insn *insn = &job.insn;

		insn->pad_top = (u16)random_between(&seed, 0, taps - 1u);
		insn->pad_left = (u16)random_between(&seed, 0, taps - 1u);
		insn->clamp_min = (s16)random_between(&seed, 0, 60) - 128;
		insn->clamp_max = (s16)(127 - (s32)random_between(&seed, 0, 60));
		place_dense(&job, &insn->in[0], JOB_IN0, height, width, channels, &seed);
		place_dense(&job, &insn->out, JOB_OUT, (height + insn->pad_top - 1) / stride + 1,
			    (width + insn->pad_left - 1) / stride + 1, channels, &seed);
		bind_constants(&job, i % 8 == 7, &seed);
		assert_true(check_case(&job, scratch, i % 3 ? INT64_MAX : 1));
		random_job_free(&job);
	}
	free(scratch);
}

static void test_matmul_counts_its_work(void **state)
{
	/* Rows of 64 elements are copied 4 at a time; the sum of a pixel takes 16 at a time. */
	const s64 pack = 16 * (4 + 64 / 4), sums = 6 * (4 + 64 / 16), pixel = 10 + 64 * 16 / 64;
	u64 seed = 3;

	(void)state;
	only(OVT_SIMD_AVX512_VNNI, OVT_SIMD_AVX512_VBMI);
	for (u32 i = 0; i < 2; i++) {
		struct random_job job = { .insn = window_insn(OVERTAKE_OP_MATMUL, 0, 0, 0) };

		job.insn.weights_region = 0;
		place(&job, &job.insn.out, JOB_OUT, 1, 6, 32, &seed);
		place(&job, &job.insn.in[0], JOB_IN0, 1, 6, 64, &seed);
		place(&job, &job.insn.in[1], JOB_IN1, 1, 32, 64, &seed);
		job.insn.in[1].zero_point = i ? -7 : 0;
		bind_constants(&job, false, &seed);
		assert_int_equal(work_of(&job), FILL(1, 6) + (i ? sums : 0) + 2 * pack + 2 * 60 +
						20 + 6 * pixel);
		random_job_free(&job);
	}
}

/* Rows that are multiplied at once end when the work of a call is used up. */
static void test_a_long_row_is_cut(void **state)
{
	struct ovt_simd_scratch *scratch = new_scratch();
	u64 seed = 4;

	(void)state;
	for (u32 i = 0; i < 2; i++) {
		struct random_job job = { .insn = window_insn(OVERTAKE_OP_CONV, 1, 1, 1) };

		if (i == 1) {
			job.insn = window_insn(OVERTAKE_OP_MATMUL, 0, 0, 0);
			job.insn.weights_region = 0;
			place(&job, &job.insn.in[1], JOB_IN1, 1, 40, 16, &seed);
		}
		place(&job, &job.insn.out, JOB_OUT, 1, 3000, 40, &seed);
		place(&job, &job.insn.in[0], JOB_IN0, 1, 3000, 16, &seed);
		bind_constants(&job, false, &seed);
		/* check_case() holds each call against the greatest unit. */
		assert_true(check_case(&job, scratch, 1));
		random_job_free(&job);
	}
	free(scratch);
}

/* Groups of pixels are planned as words; as bytes, 5 channels have more that align them. */
static void test_no_group_takes_more_than_a_unit(void **state)
{
	static const struct {
		u16 kernel_height, kernel_width, stride;
		u32 in_height, in_width;
	} rows[] = { { 3, 2, 3, 6, 8639 }, { 2, 2, 2, 4, 7372 }, { 1, 1, 1, 3, 9000 } };
	struct ovt_simd_scratch *scratch = new_scratch();
	u64 seed = 5;

	(void)state;
	for (u32 i = 0; i < COUNT(rows); i++) {
		struct random_job job = { .insn = window_insn(OVERTAKE_OP_CONV,
							      rows[i].kernel_height,
							      rows[i].kernel_width,
							      rows[i].stride) };

		place(&job, &job.insn.out, JOB_OUT,
		      (rows[i].in_height - rows[i].kernel_height) / rows[i].stride + 1,
		      (rows[i].in_width - rows[i].kernel_width) / rows[i].stride + 1, 8, &seed);
		place(&job, &job.insn.in[0], JOB_IN0, rows[i].in_height, rows[i].in_width, 5,
		      &seed);
		bind_constants(&job, false, &seed);
		memset(job.regions[JOB_WEIGHTS].base, 1, job.regions[JOB_WEIGHTS].length);
		assert_true(check_case(&job, scratch, 1));
		random_job_free(&job);
	}
	free(scratch);
}

/* 6,144 channels are the most that fit packed. */
static void test_long_rows_of_matmul_equal_scalar(void **state)
{
	static const u32 depths[] = { 6140, 6143, 6144, 6145, 6148, 6200 };
	struct ovt_simd_scratch *scratch = new_scratch();
	u64 seed = 6;

	(void)state;
	for (u32 i = 0; i < COUNT(depths); i++) {
		struct random_job job = { .insn = window_insn(OVERTAKE_OP_MATMUL, 0, 0, 0) };

		job.insn.weights_region = 0;
		place(&job, &job.insn.out, JOB_OUT, 1, 3, 33, &seed);
		place(&job, &job.insn.in[0], JOB_IN0, 1, 3, depths[i], &seed);
		place(&job, &job.insn.in[1], JOB_IN1, 1, 33, depths[i], &seed);
		bind_constants(&job, false, &seed);
		memset(scratch->step_at, 0x5a, sizeof(scratch->step_at));
		assert_true(check_case(&job, scratch, i % 2 ? 1 : INT64_MAX));
		if (test_level >= OVT_SIMD_AVX512_VNNI)
			assert_int_equal(scratch->step_at[0], depths[i] <= 6144 ? 0 : 0x5a5a5a5a);
		random_job_free(&job);
	}
	free(scratch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_copies_equal_scalar),
		cmocka_unit_test(test_conv_counts_its_work),
		cmocka_unit_test(test_depthwise_counts_its_work),
		cmocka_unit_test(test_wide_depthwise_equals_scalar),
		cmocka_unit_test(test_matmul_counts_its_work),
		cmocka_unit_test(test_a_long_row_is_cut),
		cmocka_unit_test(test_no_group_takes_more_than_a_unit),
		cmocka_unit_test(test_long_rows_of_matmul_equal_scalar),
	};

	if (!ovt_simd_supported()) {
		puts("SKIPPED: this CPU has no AVX2");
		return 77;
	}
	return run_at_levels("simd_units", tests, COUNT(tests));
}
