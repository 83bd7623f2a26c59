// SPDX-License-Identifier: MIT
/* The cycle model, against figures worked out by hand. */
#include "cmocka_all.h"

#include "hw/decode.h"
#include "hw/profile.h"

static struct overtake_operand tensor(u32 height, u32 width, u32 channels)
{
	return (struct overtake_operand){ .height = height, .width = width, .channels = channels };
}

static const struct ovt_profile *profile(const char *name)
{
	const struct ovt_profile *found = ovt_profile_find(name);

	assert_non_null(found);
	return found;
}

/* Checks the cycles on "ideal", and on "default", whose instructions cost 200 more. */
static void assert_cycles(const struct overtake_insn *insn, u64 cycles)
{
	assert_int_equal(ovt_insn_cycles(profile("ideal"), insn), cycles);
	assert_int_equal(ovt_insn_cycles(profile("default"), insn), cycles + 200);
}

static void test_profiles_have_their_numbers(void **state)
{
	const struct ovt_profile *found = profile("default");

	(void)state;
	assert_int_equal(found->clock_khz, 1000000);
	assert_int_equal(found->macs_per_cycle, 256);
	assert_int_equal(found->vector_per_cycle, 64);
	assert_int_equal(found->bytes_per_cycle, 32);
	assert_int_equal(found->insn_overhead_cycles, 200);
	assert_int_equal(found->fc_overhead_cycles, 1000);
	assert_int_equal(found->sync_cycles, 500);
	found = profile("ideal");
	assert_int_equal(found->clock_khz, 1000000);
	assert_int_equal(found->insn_overhead_cycles, 0);
	assert_int_equal(found->fc_overhead_cycles, 0);
	assert_int_equal(found->sync_cycles, 0);
}

static void test_profiles_are_listed(void **state)
{
	u32 count = 0;

	(void)state;
	while (ovt_profile_at(count)) {
		assert_ptr_equal(ovt_profile_find(ovt_profile_at(count)->name),
				 ovt_profile_at(count));
		count++;
	}
	assert_int_equal(count, 4);
	assert_null(ovt_profile_at(~0u));
	assert_null(ovt_profile_find("no such device"));
	assert_null(ovt_profile_find(""));
}

static void test_conv_costs_its_products(void **state)
{
	struct overtake_insn insn = {
		.opcode = OVERTAKE_OP_CONV, .groups = 1, .kernel_height = 3, .kernel_width = 3,
		.out = tensor(56, 56, 64), .in = { tensor(56, 56, 64) },
	};

	(void)state;
	/* 56 * 56 * 64 * 9 * 64 / 256; traffic is 439040 bytes / 32. */
	assert_cycles(&insn, 451584);
	insn.groups = 4;
	assert_cycles(&insn, 451584 / 4);
	insn.out = tensor(56, 56, 4);
	/* One output channel a group: 56 * 56 * 4 * 9 * 16 / 256 = 7056, traffic
	 * 12544 + 200704 + 4 * 9 * 8 * 16 + 96 bytes = 217952 / 32 = 6811. */
	assert_cycles(&insn, 7056);
}

/* A multiplier takes a byte of each factor, a vector half as many words; traffic counts bytes. */
static void test_16_bits_cost_twice(void **state)
{
	struct overtake_insn conv = {
		.opcode = OVERTAKE_OP_CONV, .groups = 1, .kernel_height = 3, .kernel_width = 3,
		.out = tensor(56, 56, 64), .in = { tensor(56, 56, 64) },
	};
	struct overtake_insn product = {
		.opcode = OVERTAKE_OP_MATMUL,
		.out = tensor(64, 8, 64), .in = { tensor(64, 8, 64), tensor(1, 64, 64) },
	};
	struct overtake_insn sum = {
		.opcode = OVERTAKE_OP_ADD,
		.out = tensor(7, 7, 30), .in = { tensor(7, 7, 30), tensor(7, 7, 30) },
	};
	struct overtake_insn table = {
		.opcode = OVERTAKE_OP_TABLE, .out = tensor(1, 1, 320), .in = { tensor(1, 1, 320) },
	};

	(void)state;
	assert_cycles(&conv, 451584);
	conv.out.type = OVERTAKE_TYPE_INT16;
	assert_cycles(&conv, 451584);
	conv.in[0].type = OVERTAKE_TYPE_INT16;
	assert_cycles(&conv, 2 * 451584);
	/* 64 * 8 * 64 * 64 / 256 */
	assert_cycles(&product, 8192);
	product.in[1].type = OVERTAKE_TYPE_INT16;
	assert_cycles(&product, 2 * 8192);
	product.in[0].type = OVERTAKE_TYPE_INT16;
	assert_cycles(&product, 4 * 8192);
	/* 3 * 1470 bytes / 32; one input of 16 bits: 5880 / 32; all tensors: 8820 / 32. */
	assert_cycles(&sum, 138);
	sum.in[1].type = OVERTAKE_TYPE_INT16;
	assert_cycles(&sum, 184);
	sum.in[0].type = sum.out.type = OVERTAKE_TYPE_INT16;
	assert_cycles(&sum, 276);
	/* 640 + 256 bytes / 32; 1280 + 131072 bytes / 32. */
	assert_cycles(&table, 28);
	table.in[0].type = table.out.type = OVERTAKE_TYPE_INT16;
	assert_cycles(&table, 4136);
}

static void test_matmul_with_one_row_costs_its_traffic(void **state)
{
	struct overtake_insn insn = {
		.opcode = OVERTAKE_OP_MATMUL,
		.out = tensor(1, 1, 1000), .in = { tensor(1, 1, 512), tensor(1, 1000, 512) },
	};

	(void)state;
	/* 1000 + 512 + 512000 + 3 * 4 * 1000 = 525512 bytes; 2000 cycles of products. */
	assert_cycles(&insn, 16423);
}

static void test_window_operators_use_the_vector_unit(void **state)
{
	struct overtake_insn insn = {
		.opcode = OVERTAKE_OP_DEPTHWISE, .kernel_height = 3, .kernel_width = 3,
		.out = tensor(14, 14, 96), .in = { tensor(14, 14, 96) },
	};

	(void)state;
	/* 14 * 14 * 96 * 9 / 64 */
	assert_cycles(&insn, 2646);
	insn.opcode = OVERTAKE_OP_AVERAGE_POOL;
	assert_cycles(&insn, 2646);
	insn.opcode = OVERTAKE_OP_MAX_POOL;
	assert_cycles(&insn, 2646);
	insn.kernel_height = insn.kernel_width = 1;
	/* 294 cycles of work, 2 * 18816 bytes / 32. */
	assert_cycles(&insn, 1176);
}

static void test_elementwise_operators_cost_their_traffic(void **state)
{
	struct overtake_insn insn = {
		.opcode = OVERTAKE_OP_ADD,
		.out = tensor(7, 7, 30), .in = { tensor(7, 7, 30), tensor(7, 7, 30) },
	};

	(void)state;
	/* 3 * 1470 bytes / 32 = 137.8 */
	assert_cycles(&insn, 138);
	insn.opcode = OVERTAKE_OP_COPY;
	insn.in[1] = tensor(0, 0, 0);
	assert_cycles(&insn, 92);
	insn.opcode = OVERTAKE_OP_TABLE;
	assert_cycles(&insn, 100);
}

static void test_transposed_convolutions_cost_the_taps_that_meet_an_output(void **state)
{
	struct overtake_insn insn = {
		.opcode = OVERTAKE_OP_TRANSPOSED_CONV, .groups = 1, .kernel_height = 4, .kernel_width = 4,
		.stride_height = 2, .stride_width = 2,
		.out = tensor(32, 32, 64), .in = { tensor(16, 16, 128) },
	};

	(void)state;
	/* 32 * 32 * 64 * 2 * 2 * 128 / 256 */
	assert_cycles(&insn, 131072);
	insn.kernel_width = 3;
	assert_cycles(&insn, 131072);
	insn.groups = 4;
	assert_cycles(&insn, 32768);
}

static void test_reductions_cost_their_input(void **state)
{
	struct overtake_insn insn = {
		.opcode = OVERTAKE_OP_REDUCE_SUM, .axes = OVERTAKE_AXIS_HEIGHT | OVERTAKE_AXIS_WIDTH,
		.out = tensor(1, 1, 64), .in = { tensor(7, 7, 64) },
	};

	(void)state;
	/* 3136 + 64 bytes / 32; 49 cycles of sums. */
	assert_cycles(&insn, 100);
	insn.opcode = OVERTAKE_OP_REDUCE_MAX;
	assert_cycles(&insn, 100);
	insn.opcode = OVERTAKE_OP_REDUCE_MIN;
	assert_cycles(&insn, 100);
}

static void test_resizes_cost_what_they_look_at(void **state)
{
	struct overtake_insn insn = {
		.opcode = OVERTAKE_OP_RESIZE_BILINEAR,
		.out = tensor(20, 20, 8), .in = { tensor(10, 10, 8) },
	};

	(void)state;
	/* 3200 outputs of 4 products / 64; traffic 3200 + 800 bytes. */
	assert_cycles(&insn, 200);
	insn.opcode = OVERTAKE_OP_RESIZE_NEAREST;
	assert_cycles(&insn, 125);
	/* A large input counts at most 4 elements for each output. */
	insn.in[0] = tensor(1000, 1000, 8);
	assert_cycles(&insn, 500);
}

static void test_pictures_cost_their_pixels(void **state)
{
	struct overtake_insn insn = {
		.opcode = OVERTAKE_OP_NV12,
		.out = tensor(16, 16, 3), .in = { tensor(1080, 1920, 1), tensor(540, 960, 2) },
	};

	(void)state;
	/* 768 * 8 / 64 = 96; traffic 768 + 1024 + 2048 + 96 bytes / 32 = 123. */
	assert_cycles(&insn, 123);
	insn.flags = OVERTAKE_FLAG_GRAY;
	insn.out = tensor(16, 16, 1);
	insn.in[1] = tensor(0, 0, 0);
	/* 256 + 1024 + 96 bytes / 32 */
	assert_cycles(&insn, 43);
}

static void test_floats_cost_four_bytes(void **state)
{
	struct overtake_insn insn = {
		.opcode = OVERTAKE_OP_QUANTISE,
		.out = tensor(8, 8, 16), .in = { tensor(8, 8, 16) },
	};

	(void)state;
	/* 1024 + 4096 bytes / 32 */
	assert_cycles(&insn, 160);
	insn.opcode = OVERTAKE_OP_DEQUANTISE;
	/* 1024 + 4096 bytes and a table of 1024 bytes / 32 */
	assert_cycles(&insn, 192);
}

static void test_delay_costs_what_it_says(void **state)
{
	struct overtake_insn insn = { .opcode = OVERTAKE_OP_DELAY, .delay_cycles = 1 };

	(void)state;
	assert_int_equal(ovt_insn_cycles(profile("default"), &insn), 1);
	insn.delay_cycles = OVERTAKE_DELAY_CYCLES_MAX;
	assert_int_equal(ovt_insn_cycles(profile("default"), &insn), 1ull << 32);
	assert_int_equal(ovt_insn_cycles(profile("ideal"), &insn), 1ull << 32);
}

static void test_jump_is_never_free(void **state)
{
	struct overtake_insn insn = { .opcode = OVERTAKE_OP_JUMP };

	(void)state;
	assert_int_equal(ovt_insn_cycles(profile("default"), &insn), 200);
	assert_int_equal(ovt_insn_cycles(profile("ideal"), &insn), 1);
}

/* Returns the largest instruction that the decoder accepts: 2^40 outputs of 2^17 products. */
static struct overtake_insn largest_insn(void)
{
	return (struct overtake_insn){
		.opcode = OVERTAKE_OP_MATMUL,
		.out = tensor(1u << 15, 1u << 15, 1u << 10),
		.in = { tensor(1u << 15, 1u << 15, OVERTAKE_MAX_KERNEL_ELEMENTS),
			tensor(1, 1u << 10, OVERTAKE_MAX_KERNEL_ELEMENTS) },
	};
}

static void test_the_largest_cost_fits(void **state)
{
	struct overtake_insn insn = largest_insn();

	(void)state;
	assert_int_equal(ovt_insn_cycles(profile("ideal"), &insn), 1ull << (57 - 8));
}

/* ADD costs 100, 1 an operation, 1/2 an output, 1/4 an input byte; the formula prices SUB. */
static void test_measured_costs_replace_the_formula(void **state)
{
	const struct ovt_insn_cost costs[OVERTAKE_OP_COUNT] = {
		[OVERTAKE_OP_ADD] = { 100, 1u << 16, 1u << 15, 1u << 14, 0 },
		[OVERTAKE_OP_CONV] = { 0, 1u << 16, 0, 0, 1u << 16 },
	};
	struct ovt_profile device = *profile("default");
	struct overtake_insn insn = {
		.opcode = OVERTAKE_OP_ADD,
		.out = tensor(10, 10, 8),
		.in = { tensor(10, 10, 8), tensor(10, 10, 8) },
	};

	(void)state;
	device.costs = costs;
	assert_int_equal(ovt_insn_cycles(&device, &insn), 100 + 800 + 400 + 400);
	insn.opcode = OVERTAKE_OP_SUB;
	assert_int_equal(ovt_insn_cycles(&device, &insn),
			 ovt_insn_cycles(profile("default"), &insn));
	/* 3 input channels fill tiles of 2, and 5 output channels one of 8. */
	insn = (struct overtake_insn){
		.opcode = OVERTAKE_OP_CONV,
		.kernel_height = 1, .kernel_width = 1, .groups = 1,
		.out = tensor(4, 4, 5),
		.in = { tensor(4, 4, 3) },
	};
	assert_int_equal(ovt_insn_cycles(&device, &insn),
			 4 * 4 * 8 * 4 + ovt_insn_weights_bytes(&insn) +
			 ovt_insn_params_bytes(&insn));
}

static void test_measured_costs_do_not_overflow(void **state)
{
	struct ovt_insn_cost costs[OVERTAKE_OP_COUNT] = { 0 };
	struct ovt_profile device = *profile("ideal");
	struct overtake_insn insn = largest_insn();

	(void)state;
	costs[OVERTAKE_OP_MATMUL].per_operation = OVT_COST_MAX;
	device.costs = costs;
	assert_int_equal(ovt_insn_cycles(&device, &insn), 1ull << 63);
}

static void test_time_is_rounded_up_and_does_not_overflow(void **state)
{
	struct ovt_profile slow = { .clock_khz = 700000 };
	struct ovt_profile odd = { .clock_khz = 3 };
	const u64 year_ms = 365ull * 24 * 3600 * 1000;

	(void)state;
	assert_int_equal(ovt_cycles_to_ns(profile("default"), 12345), 12345);
	assert_int_equal(ovt_cycles_to_ns(&slow, 0), 0);
	assert_int_equal(ovt_cycles_to_ns(&slow, 1), 2);	/* 1.43 */
	assert_int_equal(ovt_cycles_to_ns(&slow, 7), 10);
	assert_int_equal(ovt_cycles_to_ns(&slow, 8), 12);	/* 11.43 */
	assert_int_equal(ovt_cycles_to_ns(&odd, 1), 333334);
	assert_int_equal(ovt_cycles_to_ns(&odd, 4), 1333334);
	assert_int_equal(ovt_cycles_to_ns(&slow, year_ms * 700000), year_ms * 1000000);
	assert_int_equal(ovt_cycles_to_ns(&slow, year_ms * 700000 + 1), year_ms * 1000000 + 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_profiles_have_their_numbers),
		cmocka_unit_test(test_profiles_are_listed),
		cmocka_unit_test(test_conv_costs_its_products),
		cmocka_unit_test(test_16_bits_cost_twice),
		cmocka_unit_test(test_matmul_with_one_row_costs_its_traffic),
		cmocka_unit_test(test_window_operators_use_the_vector_unit),
		cmocka_unit_test(test_elementwise_operators_cost_their_traffic),
		cmocka_unit_test(test_transposed_convolutions_cost_the_taps_that_meet_an_output),
		cmocka_unit_test(test_reductions_cost_their_input),
		cmocka_unit_test(test_resizes_cost_what_they_look_at),
		cmocka_unit_test(test_pictures_cost_their_pixels),
		cmocka_unit_test(test_floats_cost_four_bytes),
		cmocka_unit_test(test_delay_costs_what_it_says),
		cmocka_unit_test(test_jump_is_never_free),
		cmocka_unit_test(test_the_largest_cost_fits),
		cmocka_unit_test(test_measured_costs_replace_the_formula),
		cmocka_unit_test(test_measured_costs_do_not_overflow),
		cmocka_unit_test(test_time_is_rounded_up_and_does_not_overflow),
	};

	return cmocka_run_group_tests_name("profile", tests, NULL, NULL);
}
