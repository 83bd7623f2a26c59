// SPDX-License-Identifier: MIT
/* Operands of 16 bits in the decoder: which it permits or refuses, and the bytes it counts. */
#include "cmocka_all.h"

#include "hw/decode.h"
#include "random_job.h"
#include "valid_insn.h"

#define OP(name) OVERTAKE_OP_##name
#define KEEPS_TYPE (BIT(COPY) | BIT(PAD) | BIT(PERMUTE) | BLOCKS | BIT(RESIZE_NEAREST) |	\
		    BIT(RESIZE_BILINEAR) | BIT(MAX_POOL) | BIT(REDUCE_MAX) | BIT(REDUCE_MIN))
#define TYPED (TENSORS & ~BIT(NV12))

static void widen(struct overtake_operand *operand)
{
	operand->type = OVERTAKE_TYPE_INT16;
	operand->pixel_stride *= 2;
	operand->row_stride *= 2;
}

/* Returns valid_insn() with 16 bits for every operand that may have them. */
static struct overtake_insn wide_insn(u16 opcode)
{
	struct overtake_insn insn = valid_insn(opcode);

	if (opcode != OP(QUANTISE))
		widen(&insn.in[0]);
	if (opcode != OP(DEQUANTISE))
		widen(&insn.out);
	if (1u << opcode & TWO_INPUTS)
		widen(&insn.in[1]);
	if (opcode == OP(DEQUANTISE)) {
		insn.multiplier[0] = insn.shift[0] = 1;
		insn.weights_region = 0;
	}
	return insn;
}

static u64 wide_bytes(const struct overtake_operand *operand, u16 opcode)
{
	u32 channels = random_job_is_exact(opcode) ? operand->channels :
						     (operand->channels + 7) & ~7u;

	/* The operand has floats. */
	if (!operand->type)
		channels *= 2;
	return (u64)(operand->height - 1) * operand->row_stride +
	       (u64)(operand->width - 1) * operand->pixel_stride + 2ull * channels;
}

static void wide_regions(struct ovt_region *regions, u16 opcode)
{
	struct overtake_insn insn = wide_insn(opcode);
	static u8 memory[1 << 18];

	exact_regions(regions, opcode);
	for (u32 i = 1; i <= JOB_PARAMS; i++)
		regions[i].base = memory;
	regions[JOB_OUT].length = wide_bytes(&insn.out, opcode);
	regions[JOB_IN0].length = wide_bytes(&insn.in[0], opcode);
	if (1u << opcode & TWO_INPUTS)
		regions[JOB_IN1].length = wide_bytes(&insn.in[1], opcode);
	if (opcode == OP(TABLE))
		regions[JOB_WEIGHTS].length = 2 * 65536;
}

static u32 check(const struct overtake_insn *insn, const struct ovt_region *regions)
{
	struct ovt_operands operands;

	return ovt_insn_check(insn, regions, &operands);
}

static void expect(u16 opcode, const struct overtake_insn *insn, u32 fault, const char *what)
{
	struct ovt_region regions[OVERTAKE_MAX_REGIONS];
	u32 found;

	wide_regions(regions, opcode);
	found = check(insn, regions);
	if (found != fault)
		fail_msg("opcode %u, %s: fault %u instead of %u", opcode, what, found, fault);
}

static void test_regions_of_exactly_their_size_will_do(void **state)
{
	static const u32 operands[] = { JOB_OUT, JOB_IN0, JOB_IN1, JOB_WEIGHTS };

	(void)state;
	for (u16 opcode = 1; opcode < OVERTAKE_OP_COUNT; opcode++) {
		struct overtake_insn insn = wide_insn(opcode);

		if (!(TYPED >> opcode & 1))
			continue;
		expect(opcode, &insn, OVERTAKE_FAULT_NONE, "exact");
		for (u32 i = 0; i < COUNT(operands); i++) {
			struct ovt_region regions[OVERTAKE_MAX_REGIONS];
			bool used = i < 2 || (i == 2 && TWO_INPUTS >> opcode & 1) ||
				    (i == 3 && insn.weights_region);

			wide_regions(regions, opcode);
			regions[operands[i]].length -= !!regions[operands[i]].length;
			if ((check(&insn, regions) == OVERTAKE_FAULT_BOUNDS) != used)
				fail_msg("opcode %u: operand %u one byte short", opcode, i);
		}
	}
}

static void test_what_moves_elements_keeps_their_type(void **state)
{
	(void)state;
	for (u16 opcode = 1; opcode < OVERTAKE_OP_COUNT; opcode++) {
		struct overtake_insn insn = wide_insn(opcode);
		bool keeps = KEEPS_TYPE >> opcode & 1;

		if (!(TYPED >> opcode & 1) || opcode == OP(DEQUANTISE) || opcode == OP(QUANTISE))
			continue;
		insn.out.type = OVERTAKE_TYPE_INT8;
		/* The strides stay, so each pixel has unused bytes. */
		expect(opcode, &insn, keeps ? OVERTAKE_FAULT_SHAPE : OVERTAKE_FAULT_NONE,
		       "output of bytes");
		insn = wide_insn(opcode);
		insn.in[0].type = OVERTAKE_TYPE_INT8;
		expect(opcode, &insn, keeps ? OVERTAKE_FAULT_SHAPE : OVERTAKE_FAULT_NONE,
		       "input of bytes");
	}
}

static void test_zero_points_and_odd_places_are_refused(void **state)
{
	(void)state;
	for (u16 opcode = 1; opcode < OVERTAKE_OP_COUNT; opcode++) {
		struct overtake_insn insn = wide_insn(opcode);
		struct overtake_operand *const wide[] = { &insn.out, &insn.in[0], &insn.in[1] };

		if (!(TYPED >> opcode & 1))
			continue;
		for (u32 i = 0; i < COUNT(wide); i++) {
			if (!wide[i]->type)
				continue;
			wide[i]->zero_point = 1;
			expect(opcode, &insn, OVERTAKE_FAULT_RESERVED, "zero point");
			wide[i]->zero_point = 0;
			wide[i]->offset = 1;
			expect(opcode, &insn, OVERTAKE_FAULT_FIELD, "odd offset");
			wide[i]->offset = 0;
			wide[i]->row_stride++;
			expect(opcode, &insn, OVERTAKE_FAULT_FIELD, "odd row stride");
			wide[i]->row_stride--;
			wide[i]->pixel_stride -= 8;
			if (wide[i]->pixel_stride < 2 * wide[i]->channels)
				expect(opcode, &insn, OVERTAKE_FAULT_FIELD, "pixels too short");
			wide[i]->pixel_stride += 8;
		}
	}
}

static void test_values_of_the_output_have_its_range(void **state)
{
	struct overtake_insn insn = wide_insn(OP(CONV));

	(void)state;
	insn.clamp_min = -32768;
	insn.clamp_max = 32767;
	expect(OP(CONV), &insn, OVERTAKE_FAULT_NONE, "whole range");
	insn.clamp_min = 32767;
	insn.clamp_max = 32766;
	expect(OP(CONV), &insn, OVERTAKE_FAULT_FIELD, "clamp inside out");
	insn = wide_insn(OP(CONV));
	insn.out.type = OVERTAKE_TYPE_INT8;
	insn.clamp_max = 128;
	expect(OP(CONV), &insn, OVERTAKE_FAULT_FIELD, "range of the output, not of the input");
	insn = wide_insn(OP(PAD));
	insn.fill = 32767;
	expect(OP(PAD), &insn, OVERTAKE_FAULT_NONE, "greatest fill");
	insn.fill = 32768;
	expect(OP(PAD), &insn, OVERTAKE_FAULT_FIELD, "fill above 16 bits");
	insn.fill = -32769;
	expect(OP(PAD), &insn, OVERTAKE_FAULT_FIELD, "fill below 16 bits");
}

/* A table has an entry for each value of its input, as wide as an element of its output. */
static void test_bytes_of_tables(void **state)
{
	struct overtake_insn insn = { .opcode = OP(TABLE) };

	(void)state;
	assert_int_equal(ovt_insn_weights_bytes(&insn), 256);
	insn.out.type = OVERTAKE_TYPE_INT16;
	assert_int_equal(ovt_insn_weights_bytes(&insn), 512);
	insn.in[0].type = OVERTAKE_TYPE_INT16;
	assert_int_equal(ovt_insn_weights_bytes(&insn), 2 * 65536);
	insn.out.type = OVERTAKE_TYPE_INT8;
	assert_int_equal(ovt_insn_weights_bytes(&insn), 65536);
	insn.opcode = OP(DEQUANTISE);
	assert_int_equal(ovt_insn_weights_bytes(&insn), 0);
	insn.in[0].type = OVERTAKE_TYPE_INT8;
	assert_int_equal(ovt_insn_weights_bytes(&insn), 1024);
}

/* DEQUANTISE scales elements of 16 bits, and looks up bytes in a table. */
static void test_floats_of_16_bits_have_a_scale(void **state)
{
	struct overtake_insn insn = wide_insn(OP(DEQUANTISE));

	(void)state;
	insn.weights_region = JOB_WEIGHTS;
	expect(OP(DEQUANTISE), &insn, OVERTAKE_FAULT_RESERVED, "weights");
	insn.weights_region = 0;
	insn.shift[0] = 0;
	expect(OP(DEQUANTISE), &insn, OVERTAKE_FAULT_FIELD, "shift 0");
	insn = valid_insn(OP(DEQUANTISE));
	insn.multiplier[0] = 1;
	expect(OP(DEQUANTISE), &insn, OVERTAKE_FAULT_RESERVED, "scale of bytes");
}

static u32 products_fault(u16 opcode, u32 in0_type, u32 in1_type, u32 products)
{
	struct ovt_region regions[OVERTAKE_MAX_REGIONS];
	struct overtake_insn insn = valid_insn(opcode);

	for (u32 i = 0; i < OVERTAKE_MAX_REGIONS; i++)
		regions[i] = (struct ovt_region){ (u8 *)regions, 1ull << 40,
						  OVT_REGION_READ | OVT_REGION_WRITE, 0 };
	if (opcode == OP(MATMUL)) {
		insn.in[0] = tensor(JOB_IN0, 4, 4, products);
		insn.in[1] = tensor(JOB_IN1, 1, 12, products);
	} else if (opcode == OP(DEPTHWISE)) {
		insn.kernel_height = (u16)(products / 8);
		insn.kernel_width = 8;
	} else {
		insn.groups = 1;
		insn.kernel_height = insn.kernel_width = 1;
		insn.pad_top = insn.pad_left = 0;
		insn.in[0] = tensor(JOB_IN0, 4, 4, products);
	}
	if (in0_type)
		widen(&insn.in[0]);
	if (in1_type)
		widen(&insn.in[1]);
	return check(&insn, regions);
}

static void test_fewer_products_of_16_bits_are_added_up(void **state)
{
	static const u16 opcodes[] = { OP(CONV), OP(TRANSPOSED_CONV), OP(DEPTHWISE), OP(MATMUL) };

	(void)state;
	for (u32 i = 0; i < COUNT(opcodes); i++) {
		u32 most = OVERTAKE_MAX_INT16_PRODUCTS, more = most + 8;

		assert_int_equal(products_fault(opcodes[i], 1, 0, most), OVERTAKE_FAULT_NONE);
		assert_int_equal(products_fault(opcodes[i], 1, 0, more), OVERTAKE_FAULT_SHAPE);
		assert_int_equal(products_fault(opcodes[i], 0, 0, more), OVERTAKE_FAULT_NONE);
	}
	assert_int_equal(products_fault(OP(MATMUL), 0, 1, OVERTAKE_MAX_INT16_PRODUCTS + 1),
			 OVERTAKE_FAULT_SHAPE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_regions_of_exactly_their_size_will_do),
		cmocka_unit_test(test_what_moves_elements_keeps_their_type),
		cmocka_unit_test(test_zero_points_and_odd_places_are_refused),
		cmocka_unit_test(test_values_of_the_output_have_its_range),
		cmocka_unit_test(test_bytes_of_tables),
		cmocka_unit_test(test_floats_of_16_bits_have_a_scale),
		cmocka_unit_test(test_fewer_products_of_16_bits_are_added_up),
	};

	return cmocka_run_group_tests_name("decode_int16", tests, NULL, NULL);
}
