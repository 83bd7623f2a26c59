// SPDX-License-Identifier: MIT
/* Groups: when their stages open, and in which order FCs run beside them. */
#include "cmocka_all.h"
#include "group_host.h"

static struct mock *mock_with_limit(void **state, u32 cores, u32 limit)
{
	struct mock *mock = mock_new(state, cores, OVT_MODE_TIMED, 64);
	u32 core;

	for (core = 1; core <= cores; core++)
		set_limit(mock, core, limit, 0);
	return mock;
}

static void a_stage_opens_at_once_for_a_part_that_was_alone_and_a_sync_later_for_others(void **state)
{
	struct mock *mock = mock_with_limit(state, 2, 1);
	struct mock_group *group;

	set_sync(mock, 10);
	group = group_submitted(mock, 'A', 10, "1: 100 | 50 50 | 20 | 60; 2: 200 | 40 | | 30", 0);
	run_until(mock, 1000);
	expect_starts(mock, "1:A0@0 2:A0@0 1:A1@210 2:A1@210 1:A2@260 1:A3@320 1:A4@340 2:A2@350");
	assert_int_equal(group->job.fw.end_ns, 400);
	assert_int_equal(group->job.fw.done, 8);
	assert_int_equal(group->job.fw.executed_ns, 550);
	expect_nothing_left(mock);
}

/* Stage 1 has ended before it opens for part 1, which has no FC in it. */
static void a_stage_may_end_before_it_has_opened_for_all(void **state)
{
	struct mock *mock = mock_with_limit(state, 2, 1);

	set_sync(mock, 100);
	group_submitted(mock, 'A', 10, "1: 10 | 20 | 30; 2: | | 40", 0);
	run_until(mock, 1000);
	expect_starts(mock, "1:A0@0 1:A1@10 1:A2@30 2:A0@130");
	expect_nothing_left(mock);
}

static void the_opening_of_a_stage_is_what_the_firmware_waits_for(void **state)
{
	struct mock *mock = mock_with_limit(state, 2, 1);

	set_sync(mock, 100);
	group_submitted(mock, 'A', 10, "1: 10 |; 2: | 40", 0);
	run_until(mock, 11);
	assert_int_equal(ovt_fw_next(&mock->fw), 110);
	assert_false(ovt_fw_settled(&mock->fw, 110));
	assert_true(ovt_fw_prepared(&mock->fw, 109));
	assert_false(ovt_fw_prepared(&mock->fw, 110));
	ovt_fw_prepare(&mock->fw, 110);
	assert_true(ovt_fw_prepared(&mock->fw, 110));
	run_until(mock, 1000);
	expect_starts(mock, "1:A0@0 2:A0@110");
}

static void the_sync_takes_no_time_where_time_is_not_modelled(void **state)
{
	struct mock *mock = mock_new(state, 2, OVT_MODE_FUNCTIONAL, 64);
	struct mock_group *group;

	set_sync(mock, 100);
	group = group_submitted(mock, 'A', 10, "1: 10 |; 2: | 40", 0);
	run_until(mock, 1);
	assert_int_equal(group->job.ended, 1);
	expect_starts(mock, "1:A0@0 2:A0@0");
}

/* A batch has as many FCs as the limit, but only one FC while others are held. */
static void normal_passes_what_is_held_one_fc_at_a_time(void **state)
{
	struct mock *mock = mock_with_limit(state, 2, 3);

	submitted(mock, 'a', 1, 10, 2, 10, 0);
	group_submitted(mock, 'G', 10, "1: 20 | 30; 2: 100 |", 0);
	submitted(mock, 'b', 1, 10, 4, 40, 0);
	submitted(mock, 'h', 1, 255, 1, 10, 5);
	submitted(mock, 'i', 1, 255, 1, 10, 140);
	submitted(mock, 'c', 1, 10, 1, 5, 150);
	run_until(mock, 1000);
	expect_starts(mock, "1:a0@0 2:G0@0 1:h0@10 1:a1@20 1:G0@30 1:b0@50 1:b1@90 1:G1@130 1:b2@160 "
			    "1:b3@200 1:i0@240 1:c0@250");
	expect_nothing_left(mock);
}

/* The batch has all 100 FCs of G, which has one stage, and 40 of c; the ring has 64 entries. */
static void a_batch_may_hold_more_than_the_ring(void **state)
{
	struct mock *mock = mock_with_limit(state, 1, 140);
	struct mock_group *group = group_new(mock, 'G', 10, "1: 1");
	u32 index;

	for (index = 1; index < 100; index++) {
		group->fcs[0][index] = group->fcs[0][0];
		group->stages[0][index] = 0;
	}
	group->parts[0].fc_count = group->job.fw.fc_count = group->stage_fcs[0] = 100;
	submit(mock, &group->job, 0);
	submitted(mock, 'c', 1, 10, 100, 1, 0);
	submitted(mock, 'h', 1, 255, 1, 1, 5);
	run_until(mock, 1000);
	assert_int_equal(mock->trace[139].job, 'c');
	assert_int_equal(mock->trace[140].job, 'h');
	assert_int_equal(mock->trace[140].start, 140);
	assert_int_equal(mock->trace_length, 201);
	expect_nothing_left(mock);
}

static void a_held_high_fc_holds_its_core_but_not_one_without_a_limit(void **state)
{
	static const struct {
		u32 limit;
		const char *starts;
	} rows[] = {
		{ 1, "1:H0@0 2:H0@0 1:H1@100 1:n0@110" },
		{ 0, "1:H0@0 2:H0@0 1:n0@10 1:H1@100" },
	};
	size_t row;

	for (row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		struct mock *mock = mock_with_limit(state, 2, rows[row].limit);

		group_submitted(mock, 'H', 255, "1: 10 | 10; 2: 100 |", 0);
		submitted(mock, 'n', 1, 10, 1, 50, 5);
		run_until(mock, 1000);
		expect_starts(mock, rows[row].starts);
		expect_nothing_left(mock);
	}
}

static void the_normal_floor_counts_ready_fcs_only(void **state)
{
	struct mock *mock = mock_with_limit(state, 2, 2);

	set_normal_floor(mock, 1, 2, 0);
	group_submitted(mock, 'G', 10, "1: | 15 15; 2: 60 |", 0);
	submitted(mock, 'h', 1, 255, 10, 10, 0);
	run_until(mock, 1000);
	expect_starts(mock, "1:h0@0 2:G0@0 1:h1@10 1:h2@20 1:h3@30 1:h4@40 1:h5@50 1:h6@60 1:h7@70 "
			    "1:G0@80 1:h8@95 1:h9@105 1:G1@115");
}

static void parts_that_name_no_core_take_the_emptiest_ones(void **state)
{
	struct mock *mock = mock_with_limit(state, 3, 1);
	struct mock_group *group;

	submitted(mock, 'a', 3, 10, 2, 100, 0);
	submitted(mock, 'b', 1, 10, 1, 100, 0);
	group = group_submitted(mock, 'G', 10, "0: 10 | 10; 0: 10 |", 0);
	drain(mock, 0);
	assert_int_equal(group->parts[0].placed_core, 2);
	assert_int_equal(group->parts[1].placed_core, 1);
	assert_int_equal(group->job.fw.placed_core, 2);
	run_until(mock, 1000);
	expect_nothing_left(mock);
}

/* Parts count for their cores even before their group has arrived. */
static void parts_count_for_the_cores_that_they_name(void **state)
{
	struct mock *mock = mock_with_limit(state, 3, 1);

	group_submitted(mock, 'G', 10, "1: 10 10 | 10; 3: 10 |", 10);
	assert_int_equal(ovt_fw_place(&mock->fw, &mock->context, 0x5), 3);
	drain(mock, 10);
	assert_int_equal(ovt_fw_unfinished(&mock->fw, 1), 3);
	assert_int_equal(ovt_fw_place(&mock->fw, &mock->context, 0x5), 3);
	run_until(mock, 1000);
	expect_nothing_left(mock);
}

/* Context 0 leaves the circle while its group is held, and then joins at the end. */
static void a_context_of_a_fair_device_takes_turns_with_ready_fcs(void **state)
{
	struct mock *mock = fair_new(state, 2, 2);
	struct mock_group *group = group_new(mock, 'G', 0, "1: 10 | 10 10; 2: 25 |");

	group->job.fw.context = &mock->contexts[0];
	submit(mock, &group->job, 0);
	submit_of(mock, 1, 'b', 0, 4, 0);
	submit_of(mock, 2, 'c', 0, 4, 0);
	run_until(mock, 1000);
	expect_starts(mock, "1:G0@0 2:G0@0 1:b0@10 1:c0@20 1:b1@30 1:c1@40 1:G1@50 1:b2@60 1:c2@70 "
			    "1:G2@80 1:b3@90 1:c3@100");
	expect_nothing_left(mock);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		CASE(a_stage_opens_at_once_for_a_part_that_was_alone_and_a_sync_later_for_others),
		CASE(a_stage_may_end_before_it_has_opened_for_all),
		CASE(the_opening_of_a_stage_is_what_the_firmware_waits_for),
		CASE(the_sync_takes_no_time_where_time_is_not_modelled),
		CASE(normal_passes_what_is_held_one_fc_at_a_time),
		CASE(a_batch_may_hold_more_than_the_ring),
		CASE(a_held_high_fc_holds_its_core_but_not_one_without_a_limit),
		CASE(the_normal_floor_counts_ready_fcs_only),
		CASE(parts_that_name_no_core_take_the_emptiest_ones),
		CASE(parts_count_for_the_cores_that_they_name),
		CASE(a_context_of_a_fair_device_takes_turns_with_ready_fcs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
