// SPDX-License-Identifier: MIT
/* CONV with vectors: the packing of weights, outputs of one pixel, and the work of units. */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>

#include <ovt_simd_port.h>
#include "simd_case.h"

/* Skips a test at other levels than @least to @most; else returns a new scratch. */
static struct ovt_simd_scratch *scratch_at(enum ovt_simd_level least, enum ovt_simd_level most)
{
	if (test_level < least || test_level > most)
		skip();
	return new_scratch();
}

/* For tests of how AVX2 keeps products of bytes exact in 16 bits, which VNNI need not do. */
static struct ovt_simd_scratch *avx2_scratch(void)
{
	return scratch_at(OVT_SIMD_AVX2, OVT_SIMD_AVX2);
}

/* Multiplies the greatest inputs by pairs of weights near the limit of exact byte products. */
static void test_weights_are_bytes_only_where_that_is_exact(void **state)
{
	static const s8 pairs[][2] = { { 64, 64 }, { 64, 65 }, { -64, -64 }, { -65, -64 },
				       { 127, 1 }, { 127, 2 }, { -128, 0 }, { -128, -1 },
				       { 127, 127 }, { -128, -128 } };
	struct ovt_simd_scratch *scratch = new_scratch();

	(void)state;
	for (u32 i = 0; i < 2 * COUNT(pairs); i++) {
		u64 seed = 0x9e3779b97f4a7c15ull + i;
		struct random_job job = { .insn = { .opcode = OVERTAKE_OP_CONV, .groups = 1,
						    .kernel_height = 1, .kernel_width = 1,
						    .stride_height = 1, .stride_width = 1,
						    .clamp_min = -128, .clamp_max = 127,
						    .weights_region = JOB_WEIGHTS,
						    .params_region = JOB_PARAMS } };
		u32 *params;

		place_dense(&job, &job.insn.out, JOB_OUT, 4, 5, 16, &seed);
		place_dense(&job, &job.insn.in[0], JOB_IN0, 4, 5, 8, &seed);
		bind_anything(&job, JOB_WEIGHTS, ovt_insn_weights_bytes(&job.insn),
			      OVT_REGION_READ, &seed);
		bind_anything(&job, JOB_PARAMS, ovt_insn_params_bytes(&job.insn), OVT_REGION_READ,
			      &seed);
		memset(job.regions[JOB_IN0].base, 127, job.regions[JOB_IN0].length);
		for (u64 byte = 0; byte < job.regions[JOB_WEIGHTS].length; byte++)
			job.regions[JOB_WEIGHTS].base[byte] = (u8)pairs[i / 2][(byte + i) % 2];
		params = (u32 *)job.regions[JOB_PARAMS].base;
		for (u32 output = 0; output < 16; output++) {
			params[output] = 0;
			params[16 + output] = 1u << 23;
			/* 8 products of 255 * 128 are 127 and less. */
			params[32 + output] = 23 + 11;
		}
		assert_true(check_case(&job, scratch, INT64_MAX));
		random_job_free(&job);
	}
	free(scratch);
}

/*
 * Places random inputs, outputs, weights and parameters of a CONV whose other fields are set; its
 * sums are of the size of the outputs.
 */
static void place_conv(struct random_job *job, u32 height, u32 width, u32 in_height, u32 in_width,
		       u32 inputs, u32 outputs, u64 *seed)
{
	u32 padded = (outputs + 7) / 8 * 8;
	u32 *params;

	place_dense(job, &job->insn.out, JOB_OUT, height, width, outputs, seed);
	place_dense(job, &job->insn.in[0], JOB_IN0, in_height, in_width, inputs, seed);
	bind_anything(job, JOB_WEIGHTS, ovt_insn_weights_bytes(&job->insn), OVT_REGION_READ, seed);
	bind_anything(job, JOB_PARAMS, ovt_insn_params_bytes(&job->insn), OVT_REGION_READ, seed);
	params = (u32 *)job->regions[JOB_PARAMS].base;
	for (u32 output = 0; output < padded; output++) {
		params[output] = (u32)random_between(seed, 0, 2000) - 1000;
		params[padded + output] = (u32)random_between(seed, 1u << 22, 1u << 23);
		params[2 * padded + output] = 23 + (u32)random_between(seed, 8, 14);
	}
}

static void pointwise_init(struct random_job *job, u32 height, u32 width, u32 inputs, u32 outputs,
			   u64 *seed)
{
	memset(job, 0, sizeof(*job));
	job->insn = (struct overtake_insn){ .opcode = OVERTAKE_OP_CONV, .groups = 1,
					    .kernel_height = 1, .kernel_width = 1,
					    .stride_height = 1, .stride_width = 1,
					    .clamp_min = -128, .clamp_max = 127,
					    .weights_region = JOB_WEIGHTS,
					    .params_region = JOB_PARAMS };
	place_conv(job, height, width, height, width, inputs, outputs, seed);
}

/* Makes a CONV of one output pixel: a window of up to 3 x 3 taps, in up to 3 groups. */
static void one_window_init(struct random_job *job, u32 inputs, u32 outputs, u64 *seed)
{
	struct overtake_insn *insn = &job->insn;

	memset(job, 0, sizeof(*job));
	*insn = (struct overtake_insn){ .opcode = OVERTAKE_OP_CONV,
					.groups = (u16)random_between(seed, 1, 3),
					.kernel_height = (u16)random_between(seed, 1, 3),
					.kernel_width = (u16)random_between(seed, 1, 3),
					.dilation_height = (u16)random_between(seed, 0, 2),
					.dilation_width = (u16)random_between(seed, 0, 2),
					.stride_height = 1, .stride_width = 1,
					.clamp_min = -128, .clamp_max = 127,
					.weights_region = JOB_WEIGHTS,
					.params_region = JOB_PARAMS };
	place_conv(job, 1, 1, (insn->kernel_height - 1u) * ovt_dilation(insn->dilation_height) + 1,
		   (insn->kernel_width - 1u) * ovt_dilation(insn->dilation_width) + 1,
		   inputs * insn->groups, outputs * insn->groups, seed);
}

/* Spreads the pixels of the output, so that they are not in the cache together. */
static void spread_output(struct random_job *job, u64 *seed)
{
	struct overtake_operand *out = &job->insn.out;

	free(job->regions[JOB_OUT].base);
	out->pixel_stride = OVT_SIMD_FAR;
	out->row_stride = out->width * OVT_SIMD_FAR;
	bind_anything(job, JOB_OUT, out->height * (u64)out->row_stride,
		      OVT_REGION_READ | OVT_REGION_WRITE, seed);
}

/* Returns the work of 8 outputs of @width pixels with @inputs each, or of the first unit. */
static s64 pointwise_work(u32 width, u32 inputs, bool far, bool first_unit,
			  struct ovt_simd_scratch *scratch)
{
	struct ovt_operands operands = { 0 };
	struct ovt_cursor cursor = { 0 };
	struct ovt_simd_section section;
	u64 seed = 0x2545f4914f6cdd1dull;
	struct random_job job;
	s64 work = 1;

	pointwise_init(&job, 1, width, inputs, 8, &seed);
	if (far)
		spread_output(&job, &seed);
	assert_int_equal(ovt_insn_check(&job.insn, job.regions, &operands), 0);
	if (first_unit) {
		assert_true(ovt_simd_begin(&section));
		assert_false(ovt_simd_run(&job.insn, &operands, scratch, &cursor, &work));
		ovt_simd_end(&section);
		work = 1 - work;
	} else {
		work = total_work(&job, &operands, scratch);
	}
	random_job_free(&job);
	return work;
}

/*
 * A unit of CONV counts all its work, or a step would last longer than its budget: see
 * PRODUCTS_PER_NS of hw/simd/conv.c.  Beside the products there are the inputs of the pixel, 16 in
 * a nanosecond, and its outputs, which take longer if they are far apart.
 */
static void test_a_pixel_counts_its_products(void **state)
{
	static const u32 inputs[] = { 800, 960 };
	struct ovt_simd_scratch *scratch = avx2_scratch();

	(void)state;
	for (u32 i = 0; i < 2 * COUNT(inputs); i++) {
		s64 products = inputs[i / 2] * 8 / 32, converted = inputs[i / 2] / 16;
		s64 stored = i % 2 ? OVT_SIMD_FAR_WORK : 0;
		/* The first strip waits for the weights; of 7 pixels 3 are a second one. */
		s64 second = pointwise_work(7, inputs[i / 2], i % 2, false, scratch) -
			     pointwise_work(6, inputs[i / 2], i % 2, false, scratch);
		s64 least = 3 * (products + stored + 10) + 20 + converted;

		assert_in_range(second, least, least + 4);
	}
	free(scratch);
}

/* The first unit of one pixel reads its window, and spreads it for 8 outputs. */
static void test_spreading_one_pixel_counts_as_work(void **state)
{
	static const u32 inputs[] = { 16, 256, 960 };
	struct ovt_simd_scratch *scratch = avx2_scratch();

	(void)state;
	for (u32 i = 0; i < COUNT(inputs); i++) {
		s64 spread = inputs[i] * 8 / 32, converted = inputs[i] / 16;
		s64 work = pointwise_work(1, inputs[i], false, true, scratch);

		assert_in_range(work, spread + converted + 20, spread + converted + 24);
	}
	free(scratch);
}

#define SPLIT_INPUTS	64u
#define SPLIT_QUADS	(SPLIT_INPUTS / 4)

/*
 * Makes weights: @wide groups of 4 inputs have a pair, of outputs 0 to 3, with which byte products
 * would saturate.  All other pairs just do not.
 */
static void few_wide_weights(struct random_job *job, u32 wide, u64 *seed)
{
	s8 *weights = (s8 *)job->regions[JOB_WEIGHTS].base;

	for (u64 byte = 0; byte < job->regions[JOB_WEIGHTS].length; byte++)
		weights[byte] = byte / 2 % 2 ? 64 : -64;
	for (u32 i = 0; i < wide; i++) {
		/* Weights are packed as [8 o][2 i] for each pair of inputs. */
		u32 quad = (i * 5 + 3) % SPLIT_QUADS;
		s8 *pair = weights + (u64)(2 * quad + random_between(seed, 0, 1)) * 16 +
			   random_between(seed, 0, 3) * 2;
		s8 sign = random_between(seed, 0, 1) ? 1 : -1;

		pair[0] = (s8)(sign * (s32)random_between(seed, 65, 127));
		pair[1] = (s8)(sign * (s32)random_between(seed, 64, 127));
	}
}

/* The scratch shows afterwards how the weights were multiplied. */
static void test_weights_that_would_saturate_are_split(void **state)
{
	struct ovt_simd_scratch *scratch = avx2_scratch();

	(void)state;
	for (u32 i = 0; i < 28; i++) {
		u64 seed = 0x9e3779b97f4a7c15ull + i;
		u32 wide = i / 4, outputs = i % 2 ? 16 : 8;
		bool many = i % 4 / 2;
		struct random_job job;

		pointwise_init(&job, many ? 12 : 5, 12, SPLIT_INPUTS, outputs, &seed);
		memset(job.regions[JOB_IN0].base, i % 8 / 4 ? 127 : 125,
		       job.regions[JOB_IN0].length);
		few_wide_weights(&job, wide, &seed);
		assert_true(check_case(&job, scratch, INT64_MAX));
		/* Weights are bytes, four inputs a step, or words, two inputs a step. */
		if (wide <= SPLIT_QUADS * (many ? 3 : 1) / 10) {
			assert_int_equal(scratch->steps, SPLIT_QUADS);
			assert_int_equal(scratch->extras[1][0], wide);
			assert_int_equal(scratch->extras[1][1], 0);
		} else {
			assert_int_equal(scratch->steps, SPLIT_INPUTS / 2);
		}
		random_job_free(&job);
	}
	free(scratch);
}

/* Inputs are even or odd in number; a quarter of the cases has the greatest factors. */
static void test_one_pixel_equals_scalar(void **state)
{
	struct ovt_simd_scratch *scratch = new_scratch();

	(void)state;
	for (u32 i = 0; i < 300; i++) {
		u64 seed = 0xda942042e4dd58b5ull + i;
		u32 inputs = random_between(&seed, 1, i % 3 ? 40 : 2500);
		struct random_job job;

		pointwise_init(&job, 1, 1, inputs, random_between(&seed, 1, 40), &seed);
		if (i % 4 == 3) {
			job.insn.in[0].zero_point = i % 8 == 3 ? 127 : -128;
			memset(job.regions[JOB_IN0].base, i % 8 == 3 ? -128 : 127,
			       job.regions[JOB_IN0].length);
			memset(job.regions[JOB_WEIGHTS].base, i % 16 < 8 ? -128 : 127,
			       job.regions[JOB_WEIGHTS].length);
		}
		assert_true(check_case(&job, scratch, i % 2 ? INT64_MAX : 1));
		random_job_free(&job);
	}
	free(scratch);
}

static void fill_region(struct random_job *job, u32 region, s8 value)
{
	memset(job->regions[region].base, value, job->regions[region].length);
}

/* Makes all products as large as they can be, and outputs that still show the sums. */
static void make_extreme(struct random_job *job, s8 weight)
{
	const struct overtake_insn *insn = &job->insn;
	u32 products = insn->in[0].channels / insn->groups * insn->kernel_height *
		       insn->kernel_width;
	u32 padded = (insn->out.channels + 7) / 8 * 8;
	u32 *shifts = (u32 *)job->regions[JOB_PARAMS].base + 2ull * padded;
	u32 bits = 0;

	job->insn.out.zero_point = 0;
	while (products >> bits)
		bits++;
	for (u32 output = 0; output < padded; output++)
		shifts[output] = 23 + 8 + bits;
	fill_region(job, JOB_IN0, 127);
	fill_region(job, JOB_WEIGHTS, weight);
}

/* Halves the weights, so that byte products are exact. */
static void halve_weights(struct random_job *job)
{
	s8 *weights = (s8 *)job->regions[JOB_WEIGHTS].base;

	for (u64 byte = 0; byte < job->regions[JOB_WEIGHTS].length; byte++)
		weights[byte] /= 2;
}

/* Weights are packed as bytes in chunks of 64 groups of 4 inputs; the last may be shorter. */
static void test_a_last_chunk_of_weights_may_be_a_part(void **state)
{
	static const u32 inputs[] = { 252, 255, 256, 257, 259, 260, 300, 511, 512, 514, 641 };
	struct ovt_simd_scratch *scratch = new_scratch();

	(void)state;
	for (u32 i = 0; i < 2 * COUNT(inputs); i++) {
		u64 seed = 0x8cb92ba72f3d8dd7ull + i;
		struct random_job job;

		pointwise_init(&job, 3, 4, inputs[i / 2], i % 2 ? 16 : 8, &seed);
		halve_weights(&job);
		assert_true(check_case(&job, scratch, INT64_MAX));
		assert_int_equal(scratch->steps, (inputs[i / 2] + 3) / 4);
		random_job_free(&job);
	}
	free(scratch);
}

/* Behind a ReLU no input is below its zero point: see hw/simd/conv_single.c. */
static void test_digits_of_one_pixel_equal_scalar(void **state)
{
	struct ovt_simd_scratch *scratch = avx2_scratch();
	u32 covered = 0;

	(void)state;
	for (u32 i = 0; i < 600; i++) {
		u64 seed = 0xd1342543de82ef95ull + i;
		struct random_job job;

		one_window_init(&job, random_between(&seed, 1, i % 5 ? 40 : 600),
				random_between(&seed, 1, 40), &seed);
		job.insn.in[0].zero_point = -128;
		if (i % 3 == 0)
			make_extreme(&job, i % 2 ? -128 : 127);
		if (check_case(&job, scratch, i % 4 ? INT64_MAX : 1)) {
			covered++;
			if (i % 3 == 0)
				assert_int_equal(scratch->packed[0], 15);
		}
		random_job_free(&job);
	}
	assert_true(covered > 400);
	free(scratch);
}

/* One pixel is packed as digits or words if there is room; a negative input makes it words. */
static void test_one_pixel_is_digits_only_where_that_is_exact(void **state)
{
	/* The second byte is a digit of the second input, the high byte of the first, or unused. */
	enum { DIGITS = 15, WORDS = 0, NEITHER = 0x5a };
	static const struct {
		u32 inputs;
		bool negative;
		u8 packed;
	} rows[] = {
		{ 64, false, DIGITS }, { 64, true, WORDS }, { 63, true, WORDS }, { 2, true, WORDS },
		{ 6144, false, DIGITS }, { 6144, true, WORDS }, { 6145, false, WORDS },
		{ 12288, false, WORDS }, { 12289, false, NEITHER },
	};
	struct ovt_simd_scratch *scratch = avx2_scratch();

	(void)state;
	for (u32 i = 0; i < COUNT(rows); i++) {
		u64 seed = 0xaf251af3b0f025b5ull + i;
		struct random_job job;

		pointwise_init(&job, 1, 1, rows[i].inputs, 17, &seed);
		job.insn.in[0].zero_point = rows[i].negative ? -127 : -128;
		fill_region(&job, JOB_IN0, 127);
		job.regions[JOB_IN0].base[rows[i].inputs - 1] = rows[i].negative ? (u8)-128 : 127;
		memset(scratch->packed, 0x5a, sizeof(scratch->packed));
		assert_true(check_case(&job, scratch, INT64_MAX));
		assert_int_equal(scratch->packed[1], rows[i].packed);
		random_job_free(&job);
	}
	free(scratch);
}

/* The scratch shows whether weights were packed: four inputs a step. */
static void test_vnni_packs_any_weights_of_two_pixels(void **state)
{
	struct ovt_simd_scratch *scratch = scratch_at(OVT_SIMD_AVX_VNNI, OVT_SIMD_AVX512_VBMI);

	(void)state;
	for (u32 i = 0; i < 40; i++) {
		u64 seed = 0xe7037ed1a0b428dbull + i;
		u32 pixels = 1 + i % 2, inputs = random_between(&seed, 3, 700);
		struct random_job job;

		pointwise_init(&job, 1, pixels, inputs, random_between(&seed, 1, 70), &seed);
		fill_region(&job, JOB_WEIGHTS, i % 4 / 2 ? -128 : 127);
		scratch->steps = 0;
		assert_true(check_case(&job, scratch, i % 8 / 4 ? INT64_MAX : 1));
		assert_int_equal(scratch->steps, pixels == 1 ? 0 : (inputs + 3) / 4);
		random_job_free(&job);
	}
	free(scratch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_weights_are_bytes_only_where_that_is_exact),
		cmocka_unit_test(test_weights_that_would_saturate_are_split),
		cmocka_unit_test(test_one_pixel_equals_scalar),
		cmocka_unit_test(test_a_last_chunk_of_weights_may_be_a_part),
		cmocka_unit_test(test_a_pixel_counts_its_products),
		cmocka_unit_test(test_spreading_one_pixel_counts_as_work),
		cmocka_unit_test(test_digits_of_one_pixel_equal_scalar),
		cmocka_unit_test(test_one_pixel_is_digits_only_where_that_is_exact),
		cmocka_unit_test(test_vnni_packs_any_weights_of_two_pixels),
	};

	if (!ovt_simd_supported()) {
		puts("SKIPPED: this CPU has no AVX2");
		return 77;
	}
	return run_at_levels("simd_conv", tests, COUNT(tests));
}
