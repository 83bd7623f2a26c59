// SPDX-License-Identifier: MIT
/*
 * The work of a core between two looks at the clock is bounded, whatever the program.  The tests
 * count the elements that it reads, for the shapes that need most.
 */
#include <stdlib.h>

#include "cmocka_all.h"
#include "hostile_shapes.h"
#include "hw/core.h"
#include "reference.h"

#define BYTES		(4u << 20)
/* Budgets of a step in cycles: the least, and the most that hosts give. */
static const u64 budgets[] = { 1, 256 };
/* Most elements that such a step reads, next to each other or on different cache lines. */
static const u64 near_reads[] = { 4352, 69632 };
static const u64 far_reads[] = { 640, 8704 };

/* A core with one instruction. */
struct bench {
	struct ovt_core core;
	struct overtake_insn insn;
	struct ovt_region regions[OVERTAKE_MAX_REGIONS];
	u8 *memory;
};

static void bench_start(struct bench *bench, const struct hostile_shape *shape)
{
	const struct hostile_place place = { OVERTAKE_REGION_IO, BYTES, 1 };
	struct ovt_operands operands;

	shape->build(&bench->insn, &place);
	memset(bench->memory, 1, BYTES);
	ovt_core_init(&bench->core, 1, ovt_profile_find("default"), OVT_MODE_FUNCTIONAL);
	bench->regions[OVERTAKE_REGION_PROGRAM] = (struct ovt_region){
		(u8 *)&bench->insn, sizeof(bench->insn), OVT_REGION_READ, 0,
	};
	bench->regions[OVERTAKE_REGION_IO] = (struct ovt_region){
		bench->memory, BYTES, OVT_REGION_READ | OVT_REGION_WRITE, 0,
	};
	if (ovt_insn_check(&bench->insn, bench->regions, &operands))
		fail_msg("%s is not valid", shape->name);
	bench->core.rings[OVT_RING_NORMAL].entries[0] = (struct ovt_descriptor){
		.regions = bench->regions,
		.insn_count = 1,
	};
	bench->core.rings[OVT_RING_NORMAL].tail = 1;
	ovt_core_start(&bench->core, OVT_RING_NORMAL, ~0ull);
}

/* Runs the FC in steps of @budget cycles; returns their number. */
static u64 run(struct bench *bench, u64 budget)
{
	u64 steps = 1;

	while (ovt_core_step(&bench->core, budget) == OVT_STEP_MORE)
		steps++;
	assert_int_equal(bench->core.exec.fault, OVERTAKE_FAULT_NONE);
	return steps;
}

static void a_step_reads_so_much_and_no_more(void **state)
{
	const struct hostile_shape *shape;
	struct bench *bench = calloc(1, sizeof(*bench));

	(void)state;
	bench->memory = malloc(BYTES);
	for (shape = hostile_shapes; shape->name; shape++) {
		u32 b;

		for (b = 0; b < 2; b++) {
			u64 reads, steps;

			bench_start(bench, shape);
			reads = hostile_reads(&bench->insn);
			steps = run(bench, budgets[b]);
			if (reads > steps * (shape->far ? far_reads[b] : near_reads[b]))
				fail_msg("%s: %llu elements in %llu steps", shape->name,
					 (unsigned long long)reads, (unsigned long long)steps);
		}
	}
	free(bench->memory);
	free(bench);
}

static void put_word(struct bench *bench, u64 offset, u32 word)
{
	memcpy(bench->memory + offset, &word, sizeof(word));
}

static bool is_extreme(const struct overtake_insn *insn)
{
	return insn->opcode == OVERTAKE_OP_MAX_POOL || insn->opcode == OVERTAKE_OP_REDUCE_MAX ||
	       insn->opcode == OVERTAKE_OP_REDUCE_MIN;
}

/* Fills in elements that differ; the greatest and the least are the first two, or the last. */
static void put_elements(struct bench *bench, bool first)
{
	const struct overtake_operand *in = &bench->insn.in[0];
	u64 last = (u64)(in->height - 1) * in->row_stride + (u64)(in->width - 1) * in->pixel_stride +
		   in->channels - 1;
	u64 step = in->channels > 1 ? 1 : in->pixel_stride;
	u32 i;

	for (i = 0; i < BYTES; i++) {
		s8 element = (s8)(i * 2654435761u >> 24);

		bench->memory[i] = (u8)(is_extreme(&bench->insn) ? element / 2 : element);
	}
	bench->memory[first ? 0 : last] = (u8)99;
	bench->memory[first ? step : last - step] = (u8)-99;
}

/* Sets scales that spread sums of some 2^17 random elements or products over many bytes. */
static void put_scales(struct bench *bench, u32 multiplier)
{
	u32 kernel = (u32)bench->insn.kernel_height * bench->insn.kernel_width;

	if (is_extreme(&bench->insn))
		return; /* its result has no scale */
	switch (bench->insn.opcode) {
	case OVERTAKE_OP_AVERAGE_POOL:
		put_word(bench, 4ull * (kernel - 1), multiplier);
		put_word(bench, 4ull * (kernel + kernel - 1), 15);
		break;
	case OVERTAKE_OP_REDUCE_SUM:
		bench->insn.multiplier[0] = multiplier;
		bench->insn.shift[0] = 15;
		break;
	default:
		put_word(bench, 0, 12345);
		put_word(bench, 32, 1);
		put_word(bench, 64, 15);
	}
}

/* Copies the weights of the only output in their mathematical order. */
static void dense_weights(const struct bench *bench, s8 *dense)
{
	const u8 *weights = bench->memory + bench->insn.weights_offset;
	u32 inputs = bench->insn.in[0].channels, i;

	for (i = 0; i < OVERTAKE_MAX_KERNEL_ELEMENTS; i++) {
		if (bench->insn.opcode == OVERTAKE_OP_DEPTHWISE)
			dense[i] = (s8)weights[8 * i];
		else if (inputs == 1)
			dense[i] = (s8)weights[16 * i];
		else
			dense[i] = (s8)weights[i / 2 * 16 + i % 2];
	}
}

/* Turns TRANSPOSED_CONV, whose reference is slow, into a CONV with reversed taps. */
static void as_convolution(struct overtake_insn *insn, s8 *dense)
{
	u32 taps = (u32)insn->kernel_height * insn->kernel_width, i;

	insn->opcode = OVERTAKE_OP_CONV;
	insn->pad_top = insn->pad_left = 0;
	for (i = 0; i < taps / 2; i++) {
		s8 weight = dense[i];

		dense[i] = dense[taps - 1 - i];
		dense[taps - 1 - i] = weight;
	}
}

static u32 outputs_of(const struct overtake_insn *insn)
{
	return insn->out.height * insn->out.width * insn->out.channels;
}

/* A window or a long row in many parts gives the result of the reference. */
static void parts_make_the_whole(void **state)
{
	const struct hostile_shape *shape;
	struct bench *bench = calloc(1, sizeof(*bench));
	s8 *dense = malloc(OVERTAKE_MAX_KERNEL_ELEMENTS);
	bool second = false;
	u32 compared = 0;

	(void)state;
	bench->memory = malloc(BYTES);
	/* Each shape comes twice. */
	for (shape = hostile_shapes; shape->name; shape += second, second = !second) {
		struct random_job job = { .dense = dense };
		u8 expected;

		bench_start(bench, shape);
		if (outputs_of(&bench->insn) != 1)
			continue;
		put_elements(bench, second);
		put_scales(bench, 64);
		dense_weights(bench, dense);
		job.insn = bench->insn;
		if (job.insn.opcode == OVERTAKE_OP_TRANSPOSED_CONV)
			as_convolution(&job.insn, dense);
		memcpy(job.regions, bench->regions, sizeof(job.regions));
		reference_element(&job, 0, 0, 0, &expected);
		run(bench, 1);
		if (bench->memory[bench->insn.out.offset] != expected)
			fail_msg("%s: %d, not %d", shape->name,
				 (s8)bench->memory[bench->insn.out.offset], (s8)expected);
		compared++;
	}
	free(bench->memory);
	free(bench);
	free(dense);
	assert_int_equal(compared, 2 * 13);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_step_reads_so_much_and_no_more),
		cmocka_unit_test(parts_make_the_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
