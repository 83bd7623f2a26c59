// SPDX-License-Identifier: MIT
/*
 * The work that units of vector operators count.  A work of 1 takes about a nanosecond, as
 * measured: an operator that counted too little would hold up its host for longer than a step may.
 */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>

#include <ovt_simd_port.h>
#include "simd_case.h"

#define FAR	OVT_SIMD_FAR
#define PAGE	OVT_SIMD_FAR_WORK	/* for a pixel or a row on a page of its own */

struct row {
	const char *description;
	u16 opcode;
	u16 kernel_height;
	u16 kernel_width;
	u32 height;		/* of the output */
	u32 width;
	u32 channels;
	u32 in_pixel;		/* bytes from a pixel to the next; 0: next to each other */
	u32 in_row;
	u32 out_pixel;
	s64 work;
};

/* Work of copying all inputs of rows x columns, with @pixel for each. */
#define FILL(rows, columns, pixel)	((rows) * (20 + (columns) * (pixel)))

static const struct row rows[] = {
	/* A unit is 16 channels of a pixel: 20 or 30, 20 a row of the window, 1 a position. */
	{ "MAX_POOL", OVERTAKE_OP_MAX_POOL, 2, 3, 1, 1, 16, 0, 0, 0, 20 + 2 * (20 + 3) },
	{ "MAX_POOL, 5 pixels of 17 channels", OVERTAKE_OP_MAX_POOL, 2, 3, 1, 5, 17, 0, 0, 0,
	  10 * (20 + 2 * (20 + 3)) },
	{ "MAX_POOL, far outputs", OVERTAKE_OP_MAX_POOL, 2, 3, 1, 2, 16, 0, 0, FAR,
	  2 * (20 + PAGE + 2 * (20 + 3)) },
	{ "MAX_POOL, outputs just not far", OVERTAKE_OP_MAX_POOL, 2, 3, 1, 2, 16, 0, 0, FAR - 8,
	  2 * (20 + 2 * (20 + 3)) },
	{ "MAX_POOL, far inputs", OVERTAKE_OP_MAX_POOL, 2, 3, 1, 1, 16, FAR, 0, 0,
	  20 + 2 * (20 + PAGE + 3 * (1 + PAGE)) },
	{ "MAX_POOL, far rows", OVERTAKE_OP_MAX_POOL, 2, 3, 1, 1, 16, 0, FAR, 0,
	  20 + 2 * (20 + PAGE + 3) },
	{ "MAX_POOL, far rows of 63 pixels", OVERTAKE_OP_MAX_POOL, 2, 3, 1, 61, 16, 0, FAR, 0,
	  61 * (20 + 2 * (20 + PAGE + 3)) },
	{ "MAX_POOL, rows of 64 pixels", OVERTAKE_OP_MAX_POOL, 2, 3, 1, 62, 16, 0, FAR, 0,
	  62 * (20 + 2 * (20 + 3)) },
	{ "AVERAGE_POOL", OVERTAKE_OP_AVERAGE_POOL, 2, 3, 1, 1, 16, 0, 0, 0, 30 + 2 * (20 + 3) },
	{ "AVERAGE_POOL, 5 pixels of 17 channels", OVERTAKE_OP_AVERAGE_POOL, 2, 3, 1, 5, 17, 0, 0,
	  0, 10 * (30 + 2 * (20 + 3)) },
	{ "AVERAGE_POOL, far outputs", OVERTAKE_OP_AVERAGE_POOL, 2, 3, 1, 2, 16, 0, 0, FAR,
	  2 * (30 + PAGE + 2 * (20 + 3)) },
	{ "AVERAGE_POOL, far inputs", OVERTAKE_OP_AVERAGE_POOL, 2, 3, 1, 1, 16, FAR, 0, 0,
	  30 + 2 * (20 + PAGE + 3 * (1 + PAGE)) },
	/* Inputs: 2 and 1 for 16 elements. Weights: 4 a pair of taps. Pixels: 8, 2 a pair. */
	{ "DEPTHWISE", OVERTAKE_OP_DEPTHWISE, 2, 3, 2, 4, 16, 0, 0, 0,
	  FILL(3, 6, 2 + 1) + 60 + 4 * 3 + 2 * (10 + 4 * (8 + 2 * 3)) },
	{ "DEPTHWISE, 13 channels", OVERTAKE_OP_DEPTHWISE, 2, 3, 2, 4, 13, 0, 0, 0,
	  FILL(3, 6, 2 + 1 + 3) + 60 + 4 * 3 + 2 * (10 + 4 * (8 + 2 * 3)) },
	{ "DEPTHWISE, 48 channels", OVERTAKE_OP_DEPTHWISE, 1, 2, 1, 4, 48, 0, 0, 0,
	  FILL(1, 5, 2 + 3) + 3 * (60 + 4 * 1 + 10 + 4 * (8 + 2 * 1)) },
	{ "DEPTHWISE, 72 channels", OVERTAKE_OP_DEPTHWISE, 1, 2, 1, 4, 72, 0, 0, 0,
	  FILL(1, 5, 2 + 4) + FILL(1, 5, 2 + 4 + 8) + 5 * (60 + 4 * 1 + 10 + 4 * (8 + 2 * 1)) },
	{ "DEPTHWISE, far outputs", OVERTAKE_OP_DEPTHWISE, 2, 3, 2, 4, 16, 0, 0, FAR,
	  FILL(3, 6, 2 + 1) + 60 + 4 * 3 + 2 * (10 + 4 * (8 + 2 * 3 + PAGE)) },
	{ "DEPTHWISE, far rows", OVERTAKE_OP_DEPTHWISE, 2, 3, 2, 4, 16, 0, FAR, 0,
	  FILL(3, 6, 2 + 1) + 3 * PAGE + 60 + 4 * 3 + 2 * (10 + 4 * (8 + 2 * 3)) },
	{ "DEPTHWISE, far inputs", OVERTAKE_OP_DEPTHWISE, 2, 3, 2, 4, 16, FAR, 0, 0,
	  FILL(3, 6, 2 + 1 + PAGE) + 3 * PAGE + 60 + 4 * 3 + 2 * (10 + 4 * (8 + 2 * 3)) },
	/* Windows of 3 x 3 and 5 x 5 have no inputs to copy. Pixels: 6, 1 for two rows of a column. */
	{ "DEPTHWISE, 3x3", OVERTAKE_OP_DEPTHWISE, 3, 3, 2, 4, 16, 0, 0, 0,
	  60 + 4 * 6 + 2 * (10 + 4 * (6 + 6)) },
	{ "DEPTHWISE, 3x3, 24 channels", OVERTAKE_OP_DEPTHWISE, 3, 3, 2, 4, 24, 0, 0, 0,
	  2 * (60 + 4 * 6 + 2 * (10 + 4 * (6 + 6))) },
	{ "DEPTHWISE, 5x5", OVERTAKE_OP_DEPTHWISE, 5, 5, 2, 4, 16, 0, 0, 0,
	  60 + 4 * 15 + 2 * (10 + 4 * (6 + 15)) },
	{ "DEPTHWISE, 3x3, far outputs", OVERTAKE_OP_DEPTHWISE, 3, 3, 2, 4, 16, 0, 0, FAR,
	  60 + 4 * 6 + 2 * (10 + 4 * (6 + 6 + PAGE)) },
	{ "DEPTHWISE, 3x3, far rows", OVERTAKE_OP_DEPTHWISE, 3, 3, 2, 4, 16, 0, FAR, 0,
	  60 + 4 * 6 + 2 * (10 + 3 * PAGE + 4 * (6 + 6)) },
	{ "DEPTHWISE, 3x3, far inputs", OVERTAKE_OP_DEPTHWISE, 3, 3, 2, 4, 16, FAR, 0, 0,
	  60 + 4 * 6 + 2 * (10 + 3 * PAGE + 4 * (6 + 6 + 3 * PAGE)) },
	/* A band is as many rows as make more than 512 pixels. */
	{ "DEPTHWISE, 3x3, two bands", OVERTAKE_OP_DEPTHWISE, 3, 3, 6, 128, 16, 0, 0, 0,
	  2 * (60 + 4 * 6) + 6 * (10 + 3 * PAGE + 128 * (6 + 6)) },
	/* Strips of up to 2 pixels: 40, and each pixel as many as its products with an output. */
	{ "MATMUL", OVERTAKE_OP_MATMUL, 0, 0, 1, 3, 16, 0, 0, 0,
	  FILL(1, 3, 2 + 1) + 60 + 2 * 40 + 3 * 16 },
	{ "MATMUL, 32 outputs of 32", OVERTAKE_OP_MATMUL, 0, 0, 2, 2, 32, 0, 0, 0,
	  FILL(2, 2, 2 + 2) + 2 * (60 + 2 * 40 + 4 * 32) },
	{ "MATMUL, far outputs", OVERTAKE_OP_MATMUL, 0, 0, 1, 3, 16, 0, 0, FAR,
	  FILL(1, 3, 2 + 1) + 60 + 2 * 40 + 3 * (16 + PAGE) },
	/* A run is adjacent elements of a row, up to 4096. */
	{ "ADD", OVERTAKE_OP_ADD, 0, 0, 3, 5, 16, 0, 0, 0, 3 * (80 + 5 * 16) },
	{ "ADD, two runs", OVERTAKE_OP_ADD, 0, 0, 1, 257, 16, 0, 0, 0, 2 * 80 + 257 * 16 },
	{ "REQUANTISE", OVERTAKE_OP_REQUANTISE, 0, 0, 3, 5, 16, 0, 0, 0, 3 * (80 + 5 * 16) },
	{ "REQUANTISE, pixels apart", OVERTAKE_OP_REQUANTISE, 0, 0, 3, 5, 16, 24, 0, 0,
	  3 * 5 * (80 + 16) },
	{ "TABLE", OVERTAKE_OP_TABLE, 0, 0, 3, 5, 16, 0, 0, 0, 3 * (60 + 5 * 16) },
	/* A run is a row of at most 4096 elements, a pixel, or up to 64 pixels of at most 64 bytes. */
	{ "COPY", OVERTAKE_OP_COPY, 0, 0, 3, 5, 16, 0, 0, 0, 3 * (60 + 4 + 5 * 16 / 2) },
	{ "COPY, short pixels apart", OVERTAKE_OP_COPY, 0, 0, 2, 128, 32, 40, 0, 0,
	  2 * (2 * 60 + 128 * (4 + 32 / 2)) },
	{ "COPY, large pixels", OVERTAKE_OP_COPY, 0, 0, 1, 2, 2048, 0, 0, 0, 60 + 4 + 4096 / 2 },
	{ "COPY, pixels apart", OVERTAKE_OP_COPY, 0, 0, 3, 5, 65, 80, 0, 0,
	  15 * (60 + 4 + 2 * 8 + 65 / 2) },
	{ "COPY, far inputs", OVERTAKE_OP_COPY, 0, 0, 3, 5, 16, FAR, 0, 0,
	  3 * (60 + 5 * (4 + PAGE + 16 / 2)) },
	{ "COPY, far outputs", OVERTAKE_OP_COPY, 0, 0, 3, 5, 16, 0, 0, FAR,
	  3 * (60 + 5 * (4 + PAGE + 16 / 2)) },
	{ "RESIZE_BILINEAR", OVERTAKE_OP_RESIZE_BILINEAR, 0, 0, 3, 5, 21, 0, 0, 0, 15 * (80 + 21) },
};

/* The second input has one channel: a run is a pixel, if its elements are not the row's. */
static const struct row repeating_rows[] = {
	{ "ADD, one element a pixel", OVERTAKE_OP_ADD, 0, 0, 3, 5, 16, 0, 0, 0, 3 * 5 * (80 + 16) },
	{ "ADD, one element a row", OVERTAKE_OP_ADD, 0, 0, 3, 1, 16, 0, 0, 0, 3 * (80 + 16) },
};

/* Rows for tensors of 16 bits. */
static const struct row int16_rows[] = {
	/* A unit is 8 channels of a pixel: 80, 5 a tap; MATMUL: 4 a row of 8, 1 for 8 products. */
	{ "DEPTHWISE, 16 bits", OVERTAKE_OP_DEPTHWISE, 3, 3, 2, 4, 16, 0, 0, 0,
	  2 * 4 * 2 * (80 + 9 * 5) },
	{ "DEPTHWISE, 16 bits, far inputs", OVERTAKE_OP_DEPTHWISE, 3, 3, 2, 4, 16, FAR, 0, 0,
	  2 * 4 * 2 * (80 + 9 * 5 + 9 * PAGE + 3 * PAGE) },
	{ "DEPTHWISE, 16 bits, far outputs", OVERTAKE_OP_DEPTHWISE, 3, 3, 2, 4, 16, 0, 0, FAR,
	  2 * 4 * 2 * (80 + 9 * 5 + PAGE) },
	{ "DEPTHWISE, 16 bits, far weights", OVERTAKE_OP_DEPTHWISE, 1, 2, 1, 1, 1024, 0, 0, 0,
	  128 * (80 + 2 * 5 + 2 * PAGE + 1 * PAGE + PAGE + 2 * PAGE) },
	{ "MATMUL, 16 bits", OVERTAKE_OP_MATMUL, 0, 0, 1, 3, 16, 0, 0, 0,
	  3 * 2 * (80 + 8 * (2 + 4)) },
	{ "COPY, 16 bits", OVERTAKE_OP_COPY, 0, 0, 3, 5, 40, 88, 0, 0,
	  15 * (60 + 4 + 2 * 8 + 80 / 2) },
	{ "ADD, 16 bits", OVERTAKE_OP_ADD, 0, 0, 3, 5, 16, 0, 0, 0, 3 * (80 + 5 * 16) },
};

static void place(struct random_job *job, struct overtake_operand *operand, u32 region, u32 height,
		  u32 width, u32 channels, u32 type, u32 pixel, u32 row, u64 *seed)
{
	u32 flags = OVT_REGION_READ | (region == JOB_OUT ? OVT_REGION_WRITE : 0);

	*operand = (struct overtake_operand){ .region = region, .height = height, .width = width,
					      .channels = channels, .type = type };
	operand->pixel_stride = pixel ? pixel : (channels + 7) / 8 * 8 * (type ? 2 : 1);
	operand->row_stride = row ? row : width * operand->pixel_stride;
	bind_anything(job, region, (u64)height * operand->row_stride, flags, seed);
}

static void job_init(struct random_job *job, const struct row *row, u32 type, bool repeats)
{
	struct overtake_insn *insn = &job->insn;
	u32 beside_y = row->kernel_height ? row->kernel_height - 1 : 0;
	u32 beside_x = row->kernel_width ? row->kernel_width - 1 : 0;
	u64 seed = 0x2545f4914f6cdd1dull;

	memset(job, 0, sizeof(*job));
	*insn = (struct overtake_insn){ .opcode = row->opcode,
					.kernel_height = row->kernel_height,
					.kernel_width = row->kernel_width };
	insn->stride_height = insn->stride_width = row->kernel_height ? 1 : 0;
	if (row->opcode == OVERTAKE_OP_RESIZE_BILINEAR) {
		insn->step_y = insn->step_x = 1u << OVERTAKE_POSITION_BITS;
	} else if (row->opcode != OVERTAKE_OP_TABLE && row->opcode != OVERTAKE_OP_COPY) {
		insn->clamp_min = -128;
		insn->clamp_max = 127;
	}
	place(job, &insn->out, JOB_OUT, row->height, row->width, row->channels, type,
	      row->out_pixel, 0, &seed);
	place(job, &insn->in[0], JOB_IN0, row->height + beside_y, row->width + beside_x,
	      row->channels, type, row->in_pixel, row->in_row, &seed);
	if (row->opcode == OVERTAKE_OP_ADD)
		place(job, &insn->in[1], JOB_IN1, row->height, row->width,
		      repeats ? 1 : row->channels, type, 0, 0, &seed);
	if (row->opcode == OVERTAKE_OP_MATMUL)
		place(job, &insn->in[1], JOB_IN1, 1, row->channels, row->channels, type, 0, 0,
		      &seed);
	if (row->opcode == OVERTAKE_OP_ADD || row->opcode == OVERTAKE_OP_REQUANTISE)
		insn->multiplier[0] = insn->shift[0] = 1;
	if (row->opcode == OVERTAKE_OP_ADD)
		insn->multiplier[1] = 1;
	if (ovt_insn_weights_bytes(insn)) {
		insn->weights_region = JOB_WEIGHTS;
		bind_anything(job, JOB_WEIGHTS, ovt_insn_weights_bytes(insn), OVT_REGION_READ, &seed);
	}
	if (ovt_insn_params_bytes(insn)) {
		insn->params_region = JOB_PARAMS;
		bind_anything(job, JOB_PARAMS, ovt_insn_params_bytes(insn), OVT_REGION_READ, &seed);
	}
}

static void check_rows(const struct row *checked, size_t count, u32 type, bool repeats)
{
	struct ovt_simd_scratch *scratch = new_scratch();

	for (size_t i = 0; i < count; i++) {
		struct ovt_operands operands = { 0 };
		struct random_job job;
		s64 work;

		print_message("%s\n", checked[i].description);
		job_init(&job, &checked[i], type, repeats);
		assert_int_equal(ovt_insn_check(&job.insn, job.regions, &operands), 0);
		assert_true(ovt_simd_covers(&job.insn));
		work = total_work(&job, &operands, scratch);
		assert_int_equal(work, checked[i].work);
		random_job_free(&job);
	}
	free(scratch);
}

static void test_units_count_what_they_take(void **state)
{
	(void)state;
	check_rows(rows, COUNT(rows), OVERTAKE_TYPE_INT8, false);
	check_rows(repeating_rows, COUNT(repeating_rows), OVERTAKE_TYPE_INT8, true);
	check_rows(int16_rows, COUNT(int16_rows), OVERTAKE_TYPE_INT16, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_units_count_what_they_take),
	};

	if (!ovt_simd_supported()) {
		puts("SKIPPED: this CPU has no AVX2");
		return 77;
	}
	return cmocka_run_group_tests_name("simd_work", tests, NULL, NULL);
}
