// SPDX-License-Identifier: MIT
/* Vector operators write the same bytes as scalar ones, whatever the budget. */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>

#include <ovt_simd_port.h>
#include "hw/simd/inputs.h"
#include "simd_case.h"

/* Random instructions for each level, unless OVERTAKE_TEST_INSTRUCTIONS is another number. */
#define CASES	20000u

static const u16 opcodes[] = {
	OVERTAKE_OP_CONV, OVERTAKE_OP_DEPTHWISE, OVERTAKE_OP_MATMUL, OVERTAKE_OP_MAX_POOL,
	OVERTAKE_OP_AVERAGE_POOL, OVERTAKE_OP_ADD, OVERTAKE_OP_SUB, OVERTAKE_OP_MUL,
	OVERTAKE_OP_MAX, OVERTAKE_OP_MIN, OVERTAKE_OP_REQUANTISE, OVERTAKE_OP_TABLE,
	OVERTAKE_OP_RESIZE_BILINEAR, OVERTAKE_OP_TRANSPOSED_CONV, OVERTAKE_OP_COPY,
};

#define OPCODES	((u32)(COUNT(opcodes)))

static void test_random_cases_equal_scalar(void **state)
{
	struct ovt_simd_scratch *scratch = new_scratch();
	const char *given = getenv("OVERTAKE_TEST_INSTRUCTIONS");
	u32 wanted = given ? (u32)atoi(given) : CASES;
	u32 covered = 0, cases[OPCODES] = { 0 };

	(void)state;
	for (u32 i = 0; covered < wanted; i++) {
		u64 seed = 0x517cc1b727220a95ull + i;
		struct random_job job;
		u32 which = i % OPCODES;

		random_job_init(&job, opcodes[which], &seed);
		if (seed % 2)
			random_job_narrow_weights(&job, &seed);
		if (check_case(&job, scratch, i % 2 ? INT64_MAX : 1 + i % 500)) {
			cases[which]++;
			covered++;
		}
		random_job_free(&job);
	}
	for (u32 which = 0; which < OPCODES; which++) {
		print_message("opcode %u: %u cases equal to scalar\n", opcodes[which],
			      cases[which]);
		assert_true(cases[which] >= wanted / OPCODES / 5);
	}
	print_message("%u random cases equal to scalar\n", covered);
	free(scratch);
}

/* Returns inputs for @outputs windows; the last window may end beyond the inputs. */
static u32 inputs_for(u32 outputs, u32 stride, u32 pad, u32 extent, u64 *seed)
{
	s64 inputs = (s64)(outputs - 1) * stride + extent - 2 * (s64)pad;
	s64 least = (s64)(outputs - 1) * stride - pad + 1;

	if (random_between(seed, 0, 1))
		inputs += pad;
	if (inputs < least)
		inputs = least;
	return inputs > 1 ? (u32)inputs : 1;
}

static void place_window(struct random_job *job, u32 inputs, u32 outputs, u64 *seed)
{
	struct overtake_insn *insn = &job->insn;
	bool dilates = insn->opcode != OVERTAKE_OP_AVERAGE_POOL && !random_between(seed, 0, 2);
	u32 height = random_between(seed, 1, 30), width = random_between(seed, 1, 70);
	u32 extent_y, extent_x;

	insn->kernel_height = (u16)random_between(seed, 1, 5);
	insn->kernel_width = random_between(seed, 0, 1) ? insn->kernel_height :
			     (u16)random_between(seed, 1, 7);
	insn->stride_height = (u16)random_between(seed, 1, 3);
	insn->stride_width = (u16)random_between(seed, 1, 3);
	insn->dilation_height = dilates ? (u16)random_between(seed, 0, 4) : 0;
	insn->dilation_width = dilates ? (u16)random_between(seed, 0, 4) : 0;
	extent_y = (insn->kernel_height - 1u) * ovt_dilation(insn->dilation_height) + 1;
	extent_x = (insn->kernel_width - 1u) * ovt_dilation(insn->dilation_width) + 1;
	insn->pad_top = (u16)random_between(seed, 0, extent_y - 1);
	insn->pad_left = (u16)random_between(seed, 0, extent_x - 1);
	place_dense(job, &insn->out, JOB_OUT, height, width, outputs, seed);
	place_dense(job, &insn->in[0], JOB_IN0,
		    inputs_for(height, insn->stride_height, insn->pad_top, extent_y, seed),
		    inputs_for(width, insn->stride_width, insn->pad_left, extent_x, seed), inputs,
		    seed);
}

/* Places a TRANSPOSED_CONV of a few phases; its inputs need not reach all outputs. */
static void place_phases(struct random_job *job, u32 inputs, u32 outputs, u64 *seed)
{
	struct overtake_insn *insn = &job->insn;
	u32 height = random_between(seed, 1, 40), width = random_between(seed, 1, 70);

	insn->kernel_height = (u16)random_between(seed, 1, 5);
	insn->kernel_width = (u16)random_between(seed, 1, 7);
	insn->stride_height = (u16)random_between(seed, 1, insn->kernel_height < 3 ?
						  insn->kernel_height : 3);
	insn->stride_width = (u16)random_between(seed, 1, insn->kernel_width < 4 ?
						 insn->kernel_width : 4);
	if (!random_between(seed, 0, 3))
		insn->dilation_height = (u16)random_between(seed, 0, 3);
	if (!random_between(seed, 0, 3))
		insn->dilation_width = (u16)random_between(seed, 0, 3);
	insn->pad_top = (u16)random_between(seed, 0, (insn->kernel_height - 1u) *
					    ovt_dilation(insn->dilation_height));
	insn->pad_left = (u16)random_between(seed, 0, (insn->kernel_width - 1u) *
					     ovt_dilation(insn->dilation_width));
	place_dense(job, &insn->out, JOB_OUT, height, width, outputs, seed);
	place_dense(job, &insn->in[0], JOB_IN0,
		    height / insn->stride_height + random_between(seed, 1, 3),
		    width / insn->stride_width + random_between(seed, 1, 3), inputs, seed);
}

/*
 * Makes shapes that fill a scratch several times.  Parameters may be anything, as a client may
 * leave them.
 */
static void large_job_init(struct random_job *job, u16 opcode, u64 *seed)
{
	static const u32 groups[] = { 1, 1, 2, 3 };
	struct overtake_insn *insn = &job->insn;
	u32 channels = random_between(seed, 1, 150);

	memset(job, 0, sizeof(*job));
	insn->opcode = opcode;
	insn->clamp_min = (s16)((s32)random_between(seed, 0, 100) - 128);
	insn->clamp_max = (s16)((s32)random_between(seed, 0, 100) + 27);
	insn->weights_region = JOB_WEIGHTS;
	insn->params_region = JOB_PARAMS;
	switch (opcode) {
	case OVERTAKE_OP_CONV:
		insn->groups = groups[random_between(seed, 0, 3)];
		place_window(job, random_between(seed, 1, 90) * insn->groups,
			     random_between(seed, 1, 50) * insn->groups, seed);
		break;
	case OVERTAKE_OP_TRANSPOSED_CONV:
		insn->groups = groups[random_between(seed, 0, 3)];
		place_phases(job, random_between(seed, 1, 90) * insn->groups,
			     random_between(seed, 1, 50) * insn->groups, seed);
		break;
	case OVERTAKE_OP_MATMUL:
		insn->weights_region = 0;
		place_dense(job, &insn->out, JOB_OUT, random_between(seed, 1, 12),
			    random_between(seed, 1, 12), random_between(seed, 1, 60), seed);
		channels = random_between(seed, 1, 6000);
		place_dense(job, &insn->in[0], JOB_IN0, insn->out.height, insn->out.width, channels,
			    seed);
		place_dense(job, &insn->in[1], JOB_IN1,
			    random_between(seed, 0, 1) ? 1 : insn->out.height, insn->out.channels,
			    channels, seed);
		break;
	default:
		place_window(job, channels, channels, seed);
		break;
	}
	if (opcode == OVERTAKE_OP_MAX_POOL) {
		insn->in[0].zero_point = insn->out.zero_point;
		insn->params_region = 0;
	}
	if (ovt_insn_weights_bytes(insn))
		bind_anything(job, JOB_WEIGHTS, ovt_insn_weights_bytes(insn), OVT_REGION_READ, seed);
	else
		insn->weights_region = 0;
	if (ovt_insn_params_bytes(insn))
		bind_anything(job, JOB_PARAMS, ovt_insn_params_bytes(insn), OVT_REGION_READ, seed);
}

static void test_large_cases_equal_scalar(void **state)
{
	static const u16 large[] = { OVERTAKE_OP_CONV, OVERTAKE_OP_DEPTHWISE, OVERTAKE_OP_MATMUL,
				     OVERTAKE_OP_MAX_POOL, OVERTAKE_OP_AVERAGE_POOL,
				     OVERTAKE_OP_TRANSPOSED_CONV };
	struct ovt_simd_scratch *scratch = new_scratch();
	u32 covered = 0;

	(void)state;
	for (u32 i = 0; i < 180; i++) {
		u64 seed = 0x2545f4914f6cdd1dull + i;
		struct random_job job;

		large_job_init(&job, large[i % COUNT(large)], &seed);
		if (seed % 2)
			random_job_narrow_weights(&job, &seed);
		covered += check_case(&job, scratch, i % 2 ? INT64_MAX : 3000);
		random_job_free(&job);
	}
	print_message("%u large cases equal to scalar\n", covered);
	assert_true(covered > 165);
	free(scratch);
}

static void test_resumed_at_every_budget_equals_not_resumed(void **state)
{
	struct ovt_simd_scratch *scratch = new_scratch();
	u32 runs = 0;

	(void)state;
	for (u32 i = 0; i < 10 * OPCODES; i++) {
		u64 seed = 0x9e3779b97f4a7c15ull + i;
		struct ovt_operands operands = { 0 };
		struct random_job job;
		s64 total;

		random_job_init(&job, opcodes[i % OPCODES], &seed);
		if (i / OPCODES % 2)
			random_job_narrow_weights(&job, &seed);
		assert_int_equal(ovt_insn_check(&job.insn, job.regions, &operands), 0);
		total = ovt_simd_covers(&job.insn) ? total_work(&job, &operands, scratch) : 0;
		for (s64 budget = 1; total < 3000 && budget <= total; budget++, runs++)
			assert_true(check_case(&job, scratch, budget));
		random_job_free(&job);
	}
	print_message("%u runs with every budget up to a case's whole work\n", runs);
	assert_true(runs > 10000);
	free(scratch);
}

/* The rounding mode of the process changes no byte, and is the same afterwards. */
static void test_rounding_of_the_process_does_not_matter(void **state)
{
	const u32 upwards = 0x5f80;
	struct ovt_simd_scratch *scratch = new_scratch();
	u32 before = __builtin_ia32_stmxcsr();

	(void)state;
	for (u32 i = 0; i < 20 * OPCODES; i++) {
		u64 seed = 0xda942042e4dd58b5ull + i;
		struct random_job job;

		random_job_init(&job, opcodes[i % OPCODES], &seed);
		__builtin_ia32_ldmxcsr(upwards);
		check_case(&job, scratch, INT64_MAX);
		assert_int_equal(__builtin_ia32_stmxcsr() & ~0x3fu, upwards);
		__builtin_ia32_ldmxcsr(before);
		random_job_free(&job);
	}
	free(scratch);
}

static u32 edge_bias(u64 *seed)
{
	u32 near = (u32)random_between(seed, 0, 4000) - 2000;

	switch (random_between(seed, 0, 5)) {
	case 0:
		return near + (1u << 24);
	case 1:
		return near - (1u << 24);
	case 2:
		return (u32)random_next(seed);
	case 3:
		return near * 1000;
	default:
		return near;
	}
}

/* Returns a power of two, which makes ties, or a neighbour, whose products are next to ties. */
static u32 edge_multiplier(u64 *seed)
{
	u32 power = 1u << random_between(seed, 0, 23);

	switch (random_between(seed, 0, 3)) {
	case 0:
		return power - 1;
	case 1:
		return (power + 1) & OVERTAKE_MULTIPLIER_MAX;
	default:
		return power;
	}
}

/* Returns a shift for a factor near 1/2, up to which floats are used, or less; rarely any. */
static u32 edge_shift(u32 multiplier, u64 *seed)
{
	u32 shift = (u32)random_between(seed, 0, 12);

	if (!random_between(seed, 0, 5))
		return random_between(seed, 1, 62);
	while (multiplier >>= 1)
		shift++;
	return shift < 1 ? 1 : shift;
}

/* Values at which floats just replace doubles, or just do not: see hw/simd/requantise.h. */
static void test_rounding_at_its_edges_equals_scalar(void **state)
{
	static const u16 of_sums[] = { OVERTAKE_OP_CONV, OVERTAKE_OP_DEPTHWISE,
				       OVERTAKE_OP_MATMUL };
	struct ovt_simd_scratch *scratch = new_scratch();
	u32 covered = 0;

	(void)state;
	for (u32 i = 0; i < 8000; i++) {
		u64 seed = 0x2545f4914f6cdd1dull + i;
		struct random_job job;
		u8 *params;
		u32 padded;

		random_job_init(&job, of_sums[i % 3], &seed);
		padded = (job.insn.out.channels + 7) / 8 * 8;
		params = job.regions[JOB_PARAMS].base + job.insn.params_offset;
		for (u32 output = 0; output < padded; output++) {
			u32 multiplier = edge_multiplier(&seed);
			u32 words[3] = { edge_bias(&seed), multiplier,
					 edge_shift(multiplier, &seed) };

			for (u32 word = 0; word < 3; word++)
				memcpy(params + 4 * (word * padded + output), &words[word], 4);
		}
		covered += check_case(&job, scratch, INT64_MAX);
		random_job_free(&job);
	}
	print_message("%u cases at the edges of rounding\n", covered);
	assert_true(covered > 5000);
	free(scratch);
}

/* Checks which phases of a TRANSPOSED_CONV with 16 channels in and out are covered. */
static void check_phases_that_fit(void)
{
	static const struct {
		u16 kernel, stride, dilation, pad;
		u32 inputs;
		bool covered;
	} rows[] = {
		{ 2, 2, 1, 0, 8, true }, { 3, 2, 1, 1, 8, true }, { 4, 4, 1, 0, 8, true },
		{ 1, 1, 1, 0, 8, true }, { 3, 2, 3, 2, 8, true }, { 5, 3, 2, 0, 8, true },
		{ 1, 2, 1, 0, 8, false }, { 3, 2, 2, 0, 8, false }, { 4, 2, 2, 0, 8, false },
		{ 5, 5, 1, 0, 8, false }, { 4, 1, 0xffff, 0, 8, false },
		/* The second phase begins at the second input. */
		{ 2, 2, 1, 1, 2, true }, { 2, 2, 1, 1, 1, false },
	};

	for (u32 i = 0; i < COUNT(rows); i++) {
		struct overtake_insn insn = {
			.opcode = OVERTAKE_OP_TRANSPOSED_CONV, .groups = 1,
			.kernel_height = rows[i].kernel, .kernel_width = rows[i].kernel,
			.stride_height = rows[i].stride, .stride_width = rows[i].stride,
			.dilation_height = rows[i].dilation, .dilation_width = rows[i].dilation,
			.pad_top = rows[i].pad, .pad_left = rows[i].pad,
			.in = { { .height = rows[i].inputs, .width = rows[i].inputs,
				  .channels = 16, .pixel_stride = 16, .row_stride = 128 } },
			.out = { .height = 16, .width = 16, .channels = 16, .pixel_stride = 16,
				 .row_stride = 256 },
		};

		if (ovt_simd_covers(&insn) != rows[i].covered)
			fail_msg("row %u of the phases", i);
	}
}

/* Instructions that do not fit are left to the scalar operators. */
static void test_what_does_not_fit_is_not_covered(void **state)
{
	struct overtake_insn insn = { .opcode = OVERTAKE_OP_CONV, .groups = 1,
				      .kernel_height = 2, .kernel_width = 2, .stride_height = 1,
				      .stride_width = 1 };

	(void)state;
	/* The weights of 8 outputs are a unit of work. */
	insn.in[0].channels = OVT_SIMD_INPUTS / 8;
	insn.in[0].height = insn.in[0].width = 2;
	insn.out.channels = insn.out.height = insn.out.width = 1;
	assert_true(ovt_simd_covers(&insn));
	insn.in[0].channels++;
	assert_false(ovt_simd_covers(&insn));
	insn.in[0].channels = 1;
	insn.dilation_height = insn.dilation_width = 0xffff;
	assert_false(ovt_simd_covers(&insn));
	check_phases_that_fit();
	insn = (struct overtake_insn){ .opcode = OVERTAKE_OP_DEPTHWISE, .kernel_height = 8,
				       .kernel_width = 16, .stride_height = 1, .stride_width = 1 };
	insn.out.height = insn.out.width = 1;
	insn.in[0].channels = insn.out.channels = 16;
	assert_true(ovt_simd_covers(&insn));
	insn.kernel_width = 17;
	assert_false(ovt_simd_covers(&insn));
	insn = (struct overtake_insn){ .opcode = OVERTAKE_OP_MAX_POOL, .kernel_height = 1500,
				       .kernel_width = 1, .stride_height = 1, .stride_width = 1 };
	insn.in[0].channels = insn.out.channels = insn.out.height = insn.out.width = 1;
	assert_true(ovt_simd_covers(&insn));
	insn.kernel_height = 1600;
	assert_false(ovt_simd_covers(&insn));
	insn = (struct overtake_insn){ .opcode = OVERTAKE_OP_MATMUL };
	insn.out.channels = insn.out.height = insn.out.width = 2;
	insn.in[0].channels = 32768;
	insn.in[1].height = 1;
	assert_true(ovt_simd_covers(&insn));
	insn.in[0].channels++;
	assert_false(ovt_simd_covers(&insn));
	insn = (struct overtake_insn){ .opcode = OVERTAKE_OP_ADD };
	insn.out.channels = insn.out.height = insn.out.width = 2;
	insn.in[0] = insn.in[1] = insn.out;
	assert_true(ovt_simd_covers(&insn));
	insn.in[1].channels = 1;
	assert_true(ovt_simd_covers(&insn));
	insn.opcode = OVERTAKE_OP_MUL;
	insn.in[0].type = OVERTAKE_TYPE_INT16;
	assert_true(ovt_simd_covers(&insn));
	insn.in[1].type = OVERTAKE_TYPE_INT16;
	assert_false(ovt_simd_covers(&insn));
	insn = (struct overtake_insn){ .opcode = OVERTAKE_OP_PAD };
	insn.out.channels = insn.out.height = insn.out.width = 2;
	assert_false(ovt_simd_covers(&insn));
	insn.opcode = 0xffff;
	assert_false(ovt_simd_covers(&insn));
}

struct gap_row {
	const char *description;
	u16 opcode;
	u16 kernel;
	u16 stride;
	u16 dilation;
	u32 channels;
	u32 outputs;
	bool covered;
};

static const struct gap_row gap_rows[] = {
	{ "CONV, taps next to each other", OVERTAKE_OP_CONV, 2, 1, 1, 1, 8, true },
	{ "CONV, taps far apart", OVERTAKE_OP_CONV, 2, 1, 180, 1, 8, false },
	{ "CONV, taps apart, but many outputs", OVERTAKE_OP_CONV, 2, 1, 16, 128, 128, true },
	{ "CONV, windows far apart", OVERTAKE_OP_CONV, 2, 100, 1, 1, 8, false },
	{ "CONV, only samples far apart", OVERTAKE_OP_CONV, 1, 100, 1, 1, 8, true },
	{ "DEPTHWISE, taps next to each other", OVERTAKE_OP_DEPTHWISE, 2, 1, 1, 16, 16, true },
	{ "DEPTHWISE, every second pixel", OVERTAKE_OP_DEPTHWISE, 3, 2, 1, 16, 16, true },
	{ "DEPTHWISE, taps far apart", OVERTAKE_OP_DEPTHWISE, 2, 1, 62, 16, 16, false },
};

/* Inputs between the taps would be copied in vain. */
static void test_wide_gaps_are_not_covered(void **state)
{
	(void)state;
	for (u32 i = 0; i < COUNT(gap_rows); i++) {
		const struct gap_row *row = &gap_rows[i];
		struct overtake_insn insn = {
			.opcode = row->opcode, .kernel_height = row->kernel,
			.kernel_width = row->kernel, .stride_height = row->stride,
			.stride_width = row->stride, .dilation_height = row->dilation,
			.dilation_width = row->dilation, .out = { .height = 48, .width = 48 },
		};

		insn.groups = row->opcode == OVERTAKE_OP_CONV;
		insn.in[0].channels = row->channels;
		insn.in[0].pixel_stride = (row->channels + 7) / 8 * 8;
		insn.out.channels = row->outputs;
		if (ovt_simd_covers(&insn) != row->covered)
			fail_msg("%s", row->description);
	}
}

/* Makes rows and windows of up to the greatest length. */
static void long_job_init(struct random_job *job, u16 opcode, u64 *seed)
{
	struct overtake_insn *insn = &job->insn;
	bool tall = random_between(seed, 0, 1);
	u32 outputs = random_between(seed, 1, 12000), extent;

	memset(job, 0, sizeof(*job));
	*insn = (struct overtake_insn){ .opcode = opcode, .clamp_min = -128, .clamp_max = 127,
					.kernel_height = 1, .kernel_width = 1, .stride_height = 1,
					.stride_width = 1, .weights_region = JOB_WEIGHTS,
					.params_region = JOB_PARAMS };
	insn->groups = opcode == OVERTAKE_OP_CONV;
	extent = random_between(seed, 1, opcode == OVERTAKE_OP_DEPTHWISE ? 128 : 1400);
	if (opcode == OVERTAKE_OP_MAX_POOL) {
		outputs = outputs / 100 + 1;
		insn->params_region = 0;
	} else if (random_between(seed, 0, 1)) {
		extent = 1;
	}
	if (opcode == OVERTAKE_OP_CONV && extent > 1)
		outputs = outputs / 100 + 1;
	*(tall ? &insn->kernel_height : &insn->kernel_width) = (u16)extent;
	extent += outputs - 1;
	place_dense(job, &insn->out, JOB_OUT, tall ? outputs : 1, tall ? 1 : outputs, 3, seed);
	place_dense(job, &insn->in[0], JOB_IN0, tall ? extent : 1, tall ? 1 : extent, 3, seed);
	insn->in[0].zero_point = insn->out.zero_point;
	if (opcode == OVERTAKE_OP_MAX_POOL)
		insn->weights_region = 0;
	else
		bind_anything(job, JOB_WEIGHTS, ovt_insn_weights_bytes(insn), OVT_REGION_READ, seed);
	if (insn->params_region)
		bind_anything(job, JOB_PARAMS, ovt_insn_params_bytes(insn), OVT_REGION_READ, seed);
}

/* With a budget of 1 a call ends after its first unit: run_simd() checks the work of each. */
static void test_units_of_long_cases_are_bounded(void **state)
{
	static const u16 opcodes_of_windows[] = { OVERTAKE_OP_CONV, OVERTAKE_OP_DEPTHWISE,
						  OVERTAKE_OP_MAX_POOL };
	struct ovt_simd_scratch *scratch = new_scratch();
	u32 covered = 0;

	(void)state;
	for (u32 i = 0; i < 60; i++) {
		u64 seed = 0x9fb21c651e98df25ull + i;
		struct random_job job;

		long_job_init(&job, opcodes_of_windows[i % 3], &seed);
		covered += check_case(&job, scratch, 1);
		random_job_free(&job);
	}
	print_message("%u long cases in units\n", covered);
	assert_true(covered > 40);
	free(scratch);
}

/* The scratch behind the last row stays as it was. */
static void test_inputs_fill_no_more_than_their_rows(void **state)
{
	struct ovt_simd_scratch *scratch = new_scratch();
	struct random_job job = { .insn = { .opcode = OVERTAKE_OP_MAX_POOL, .kernel_height = 3,
					    .kernel_width = 3, .stride_height = 1,
					    .stride_width = 1, .clamp_min = -128,
					    .clamp_max = 127 } };
	const u32 filled = 4 * 6 * 16;
	struct ovt_operands operands = { 0 };
	struct ovt_simd_inputs inputs;
	u64 seed = 0x9e3779b97f4a7c15ull;

	(void)state;
	place_dense(&job, &job.insn.out, JOB_OUT, 2, 4, 16, &seed);
	place_dense(&job, &job.insn.in[0], JOB_IN0, 4, 6, 16, &seed);
	job.insn.in[0].zero_point = job.insn.out.zero_point;
	assert_int_equal(ovt_insn_check(&job.insn, job.regions, &operands), 0);
	assert_true(ovt_simd_inputs_plan(&inputs, &job.insn, 16, 16));
	ovt_simd_inputs_fill(&inputs, &job.insn, &operands, 0, 0, 0, scratch->inputs);
	assert_int_not_equal(scratch->inputs[filled - 1], 0x5a5a);
	for (u32 i = filled; i < OVT_SIMD_INPUTS; i++)
		assert_int_equal(scratch->inputs[i], 0x5a5a);
	random_job_free(&job);
	free(scratch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_cases_equal_scalar),
		cmocka_unit_test(test_large_cases_equal_scalar),
		cmocka_unit_test(test_resumed_at_every_budget_equals_not_resumed),
		cmocka_unit_test(test_rounding_of_the_process_does_not_matter),
		cmocka_unit_test(test_rounding_at_its_edges_equals_scalar),
		cmocka_unit_test(test_what_does_not_fit_is_not_covered),
		cmocka_unit_test(test_wide_gaps_are_not_covered),
		cmocka_unit_test(test_units_of_long_cases_are_bounded),
		cmocka_unit_test(test_inputs_fill_no_more_than_their_rows),
	};

	if (!ovt_simd_supported()) {
		puts("SKIPPED: this CPU has no AVX2");
		return 77;
	}
	return run_at_levels("simd", tests, COUNT(tests));
}
