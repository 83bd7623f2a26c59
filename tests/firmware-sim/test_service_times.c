// SPDX-License-Identifier: MIT
/* Estimates of segments: by the records of those that ran, by the model for the others. */
#include "cmocka_all.h"
#include "hw/decode.h"
#include "service/cost.h"
#include "service/records.h"

#define MS		1000000ull

static void keys_differ(void **state)
{
	const struct overtake_fc fcs[] = {{ .first_insn = 0, .insn_count = 3 },
					  { .first_insn = 3, .insn_count = 2 }};
	const struct overtake_fc others[] = {{ .first_insn = 3, .insn_count = 2 },
					     { .first_insn = 0, .insn_count = 3 }};
	u64 key = ovt_record_key_of_fcs(4096, fcs, 2);

	(void)state;
	assert_true(key == ovt_record_key_of_fcs(4096, fcs, 2));
	assert_true(key != ovt_record_key_of_fcs(8192, fcs, 2));
	assert_true(key != ovt_record_key_of_fcs(4096, fcs, 1));
	assert_true(key != ovt_record_key_of_fcs(4096, others, 2));
	assert_true(key != ovt_record_key_of_fcs(0, fcs, 2));
	assert_true(ovt_record_key_of_cpu(4096) != ovt_record_key_of_fcs(4096, fcs, 2));
	assert_true(ovt_record_key_of_cpu(0) != 0);
	/* Both halves of the key change with each bit of the number. */
	for (int bit = 0; bit < 64; bit++) {
		u64 change = ovt_record_key_of_cpu(0) ^ ovt_record_key_of_cpu(1ull << bit);

		assert_true((u32)change != 0);
		assert_true(change >> 32 != 0);
	}
}

static void a_record_is_smoothed(void **state)
{
	static struct ovt_records table;
	struct ovt_records *records = &table;
	int i;

	(void)state;
	assert_int_equal(ovt_records_time(records, 7, 42), 42);
	ovt_records_note(records, 7, 1000);
	assert_int_equal(ovt_records_time(records, 7, 42), 1000);
	ovt_records_note(records, 7, 2000);
	assert_int_equal(ovt_records_time(records, 7, 42), 1100);
	ovt_records_note(records, 7, 100);
	assert_int_equal(ovt_records_time(records, 7, 42), 1000);
	ovt_records_note(records, 7, 1005);
	assert_int_equal(ovt_records_time(records, 7, 42), 1001); /* 1000.5 */
	for (i = 0; i < 1000; i++)
		ovt_records_note(records, 7, 333);
	assert_int_equal(ovt_records_time(records, 7, 42), 333);
	ovt_records_note(records, 8, ~0ull);
	ovt_records_note(records, 8, ~0ull);
	assert_true(ovt_records_time(records, 8, 0) > 1000000 * MS);
}

static void the_record_used_longest_ago_makes_room(void **state)
{
	static struct ovt_records table;
	struct ovt_records *records = &table;
	u64 key, i;

	(void)state;
	/* Notes five keys that fall into one set. */
	for (i = 0; i < OVT_RECORD_WAYS; i++)
		ovt_records_note(records, 3 + i * OVT_RECORD_SETS, 100 + i);
	assert_int_equal(ovt_records_time(records, 3, 0), 100);
	key = 3 + OVT_RECORD_WAYS * OVT_RECORD_SETS;
	ovt_records_note(records, key, 999);
	assert_int_equal(ovt_records_time(records, key, 0), 999);
	assert_int_equal(ovt_records_time(records, 3, 0), 100); /* it was used since */
	assert_int_equal(ovt_records_time(records, 3 + OVT_RECORD_SETS, 7), 7);
	assert_int_equal(ovt_records_time(records, 3 + 2 * OVT_RECORD_SETS, 0), 102);
	assert_int_equal(ovt_records_time(records, 3 + 3 * OVT_RECORD_SETS, 0), 103);
}

static void a_program_costs_what_the_model_says(void **state)
{
	struct ovt_profile profile = *ovt_profile_find("ideal");
	struct overtake_insn insns[4] = { 0 };
	struct ovt_region regions[OVERTAKE_MAX_REGIONS] = { 0 };
	const struct overtake_fc fcs[] = { { 0, 2 }, { 2, 1 } };
	const struct overtake_fc beyond[] = { { 3, 100 } };
	const struct overtake_fc many[] = { { 0, 2 * OVT_COST_MAX_INSNS } };
	static struct overtake_insn long_program[2 * OVT_COST_MAX_INSNS];
	u32 i;

	(void)state;
	for (i = 0; i < 4; i++) {
		insns[i].opcode = OVERTAKE_OP_DELAY;
		insns[i].delay_cycles = 1000 * (i + 1);
	}
	regions[OVERTAKE_REGION_PROGRAM].base = (u8 *)insns;
	regions[OVERTAKE_REGION_PROGRAM].length = sizeof(insns);
	regions[OVERTAKE_REGION_PROGRAM].flags = OVT_REGION_READ;
	assert_int_equal(ovt_segment_cost_ns(&profile, regions, fcs, 2), 6000);
	assert_int_equal(ovt_segment_cost_ns(&profile, regions, fcs, 1), 3000);
	assert_int_equal(ovt_segment_cost_ns(&profile, regions, beyond, 1), 4000);
	profile.fc_overhead_cycles = 50;
	assert_int_equal(ovt_segment_cost_ns(&profile, regions, fcs, 2), 6100);
	insns[1].opcode = 77;
	assert_int_equal(ovt_segment_cost_ns(&profile, regions, fcs, 2), 4100);
	insns[0].delay_cycles = OVERTAKE_DELAY_CYCLES_MAX;
	profile.clock_khz = 100;
	assert_true(ovt_segment_cost_ns(&profile, regions, fcs, 2) == 60000 * MS);
	for (i = 0; i < 2 * OVT_COST_MAX_INSNS; i++) {
		long_program[i].opcode = OVERTAKE_OP_DELAY;
		long_program[i].delay_cycles = i < OVT_COST_MAX_INSNS ? 3 : 1000000;
	}
	regions[OVERTAKE_REGION_PROGRAM].base = (u8 *)long_program;
	regions[OVERTAKE_REGION_PROGRAM].length = sizeof(long_program);
	profile = *ovt_profile_find("ideal");
	assert_int_equal(ovt_segment_cost_ns(&profile, regions, many, 1),
			 2 * 3 * OVT_COST_MAX_INSNS);
}

/*
 * Part 0 takes 1000 and 3000 in stages 0 and 2, part 1 takes 2000 and 4000 in stages 0 and 1.
 * Part 1 is alone in stage 1: it would not wait for the sync before its next stage, but has none.
 */
static void a_group_costs_its_time_alone(void **state)
{
	struct ovt_profile profile = *ovt_profile_find("ideal");
	struct overtake_insn insns[4] = { 0 };
	struct ovt_region regions[OVERTAKE_MAX_REGIONS] = { 0 };
	const struct ovt_fc fcs[] = { { 0, 1 }, { 2, 1 }, { 1, 1 }, { 3, 1 } };
	u32 stages[] = { 0, 2, 0, 1 };
	struct ovt_fw_part parts[2] = { 0 };
	struct ovt_fw_group group = { .parts = parts, .part_count = 2, .stage_count = 3 };
	struct ovt_cost cost;
	u64 key;
	u32 i;

	(void)state;
	for (i = 0; i < 4; i++) {
		insns[i].opcode = OVERTAKE_OP_DELAY;
		insns[i].delay_cycles = 1000 * (i + 1);
	}
	regions[OVERTAKE_REGION_PROGRAM].base = (u8 *)insns;
	regions[OVERTAKE_REGION_PROGRAM].length = sizeof(insns);
	regions[OVERTAKE_REGION_PROGRAM].flags = OVT_REGION_READ;
	for (i = 0; i < 2; i++) {
		parts[i].fcs = fcs + 2 * i;
		parts[i].stages = stages + 2 * i;
		parts[i].fc_count = 2;
	}
	assert_int_equal(ovt_group_cost_ns(&profile, regions, &group), 2000 + 4000 + 3000);
	profile.fc_overhead_cycles = 50;
	profile.sync_cycles = 7;
	assert_int_equal(ovt_group_cost_ns(&profile, regions, &group), 9000 + 3 * 50 + 2 * 7);
	stages[1] = 1;	/* part 0 alone in stage 1, and part 1 in stage 2 */
	stages[3] = 2;
	assert_int_equal(ovt_group_cost_ns(&profile, regions, &group), 9000 + 3 * 50 + 2 * 7);
	stages[3] = 1;
	stages[1] = 2;
	parts[0].fc_count = 1;	/* part 1 alone in stage 1: it had not been alone before */
	group.stage_count = 2;
	assert_int_equal(ovt_group_cost_ns(&profile, regions, &group), 6000 + 2 * 50 + 7);
	ovt_cost_begin_group(&cost, &profile, regions, &group);
	for (i = 1; ovt_cost_step(&cost, 1); i++)
		assert_true(i < 30);
	assert_int_equal(ovt_cost_ns(&cost), 6000 + 2 * 50 + 7);
	key = ovt_record_key_of_group(4096, &group);
	assert_true(key == ovt_record_key_of_group(4096, &group));
	assert_true(key != ovt_record_key_of_group(8192, &group));
	stages[3] = 0;
	assert_true(key != ovt_record_key_of_group(4096, &group));
	parts[0].fc_count = 2;
	parts[1].fc_count = 1;
	parts[1].fcs++;
	assert_true(key != ovt_record_key_of_group(4096, &group));
}

/* A step looks at no more instructions than it may; the price does not depend on the steps. */
static void a_price_is_found_in_bounded_steps(void **state)
{
	static struct overtake_insn insns[100];
	const struct overtake_fc fcs[] = {{ 0, 60 }, { 60, 40 }, { 0, 0 }, { 5, 90 }};
	struct ovt_region regions[OVERTAKE_MAX_REGIONS] = { 0 };
	const struct ovt_profile *profile = ovt_profile_find("default");
	struct ovt_cost cost;
	u32 i, steps;

	(void)state;
	for (i = 0; i < 100; i++)
		insns[i] = (struct overtake_insn){ .opcode = OVERTAKE_OP_DELAY,
						   .delay_cycles = 10 + i };
	regions[OVERTAKE_REGION_PROGRAM].base = (u8 *)insns;
	regions[OVERTAKE_REGION_PROGRAM].length = sizeof(insns);
	regions[OVERTAKE_REGION_PROGRAM].flags = OVT_REGION_READ;
	for (steps = 1; steps < 300; steps++) {
		u64 before = 0;
		u32 calls = 1;

		ovt_cost_begin(&cost, profile, regions, fcs, 4);
		for (; ovt_cost_step(&cost, steps); calls++) {
			assert_true(cost.looked_at - before <= steps);
			before = cost.looked_at;
		}
		assert_int_equal(calls, (190 + 4 + steps - 1) / steps);
		assert_true(ovt_cost_ns(&cost) == ovt_segment_cost_ns(profile, regions, fcs, 4));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_differ),
		cmocka_unit_test(a_record_is_smoothed),
		cmocka_unit_test(the_record_used_longest_ago_makes_room),
		cmocka_unit_test(a_program_costs_what_the_model_says),
		cmocka_unit_test(a_group_costs_its_time_alone),
		cmocka_unit_test(a_price_is_found_in_bounded_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
