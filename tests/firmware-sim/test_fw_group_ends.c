// SPDX-License-Identifier: MIT
/* How groups end: cancelled, killed, faulty, stopped, beside the reset of a core. */
#include "cmocka_all.h"
#include "group_host.h"

static const char two_parts[] = "1: 100 100 | 50; 2: 160 | 40";

static void a_cancelled_group_ends_with_the_last_of_its_fcs(void **state)
{
	struct mock *mock = mock_new(state, 2, OVT_MODE_TIMED, 64);
	struct mock_group *group = group_submitted(mock, 'G', 10, two_parts, 0);

	submitted(mock, 'n', 2, 10, 1, 10, 5);
	cancel(mock, &group->job, 110);
	run_until(mock, 1000);
	expect_starts(mock, "1:G0@0 2:G0@0 1:G1@100 2:n0@160");
	assert_int_equal(group->job.fw.status, OVT_JOB_CANCELLED);
	assert_int_equal(group->job.fw.end_ns, 200);
	assert_int_equal(mock->cancels, 1);
	expect_nothing_left(mock);
}

static void a_cancelled_group_ends_at_once_if_none_of_its_fcs_runs(void **state)
{
	struct mock *mock = mock_new(state, 2, OVT_MODE_TIMED, 64);
	struct mock_group *group;

	set_sync(mock, 50);
	group = group_submitted(mock, 'G', 255, "1: 10 |; 2: | 40", 0);
	cancel(mock, &group->job, 30);
	run_until(mock, 1000);
	expect_starts(mock, "1:G0@0");
	assert_int_equal(group->job.fw.status, OVT_JOB_CANCELLED);
	assert_int_equal(group->job.fw.end_ns, 30);
	expect_nothing_left(mock);
}

static void a_group_counts_as_cancelled_even_if_all_its_fcs_have_started(void **state)
{
	struct mock *mock = mock_new(state, 2, OVT_MODE_TIMED, 64);
	struct mock_group *group = group_submitted(mock, 'G', 10, "1: 100; 2: 200", 0);

	cancel(mock, &group->job, 150);
	run_until(mock, 1000);
	assert_int_equal(group->job.fw.status, OVT_JOB_CANCELLED);
	assert_int_equal(group->job.fw.end_ns, 200);
	assert_int_equal(group->job.fw.done, 2);
	expect_nothing_left(mock);
}

/* Only one part has FCs in the last stage, which ends before it opens for the other part. */
static void no_stage_of_a_group_that_has_ended_opens(void **state)
{
	struct mock *mock = mock_new(state, 2, OVT_MODE_TIMED, 64);
	struct mock_group *group;

	set_sync(mock, 100);
	group = group_submitted(mock, 'G', 10, "1: 10 | 20; 2: 5 |", 0);
	group_submitted(mock, 'H', 10, "1: 10 | 20 | 30", 0);
	run_until(mock, 1000);
	assert_int_equal(group->job.fw.status, OVT_JOB_OK);
	expect_nothing_left(mock);
}

static void make_faulty(struct mock_group *group, u32 part, u32 index)
{
	group->fcs[part][index].first_insn = 0xffffffffu;
}

static void the_fault_of_a_part_ends_its_group_with_the_last_fc_that_runs(void **state)
{
	struct mock *mock = mock_new(state, 3, OVT_MODE_TIMED, 64);
	struct mock_group *group =
		group_new(mock, 'G', 10, "1: 100 100 | 50; 2: 160 | 40; 3: 500 | 10");

	make_faulty(group, 0, 1);
	submit(mock, &group->job, 0);
	submitted(mock, 'n', 2, 10, 1, 10, 5);
	run_until(mock, 1000);
	expect_starts(mock, "1:G0@0 2:G0@0 3:G0@0 1:G1@100 2:n0@160");
	assert_int_equal(group->job.fw.status, OVT_JOB_FAULTED);
	assert_int_equal(group->job.fw.fault, OVERTAKE_FAULT_PROGRAM);
	assert_int_equal(group->job.fw.end_ns, 500);
	assert_int_equal(mock->faults, 1);
	expect_nothing_left(mock);
}

static void of_several_faults_the_first_is_reported_of_the_lowest_core(void **state)
{
	struct mock *mock = mock_new(state, 2, OVT_MODE_TIMED, 64);
	struct mock_group *group = group_new(mock, 'G', 10, "2: 100 100 | 50; 1: 100 | 40");

	submit(mock, &group->job, 0);
	make_faulty(group, 0, 0);
	set_limit(mock, 1, 1, 0);
	mock->cores[0].watchdog_cycles = 1;
	run_until(mock, 1000);
	assert_int_equal(mock->faults + mock->hung, 2);
	assert_int_equal(group->job.fw.status, OVT_JOB_HUNG);
	assert_int_equal(group->job.fw.fault, OVERTAKE_FAULT_WATCHDOG);
	expect_nothing_left(mock);
}

static void a_cancel_behind_a_fault_changes_nothing(void **state)
{
	struct mock *mock = mock_new(state, 2, OVT_MODE_TIMED, 64);
	struct mock_group *group = group_new(mock, 'G', 10, "1: 10; 2: 100 100");

	make_faulty(group, 0, 0);
	submit(mock, &group->job, 0);
	cancel(mock, &group->job, 50);
	run_until(mock, 1000);
	assert_int_equal(group->job.fw.status, OVT_JOB_FAULTED);
	assert_int_equal(group->job.fw.end_ns, 100);
	expect_nothing_left(mock);
}

static void the_reset_of_a_core_ends_a_group_that_runs_there(void **state)
{
	struct mock *mock = mock_new(state, 3, OVT_MODE_TIMED, 64);
	struct mock_group *group = group_submitted(mock, 'G', 10, "1: 100 | 10; 2: 30 | 10; 3: | 5", 0);
	struct mock_group *other = group_submitted(mock, 'K', 10, "2: 10; 3: 10", 0);

	reset(mock, 3, 20); /* where G waits */
	reset(mock, 1, 50);
	run_until(mock, 1000);
	assert_int_equal(group->job.fw.status, OVT_JOB_RESET);
	assert_int_equal(group->job.fw.end_ns, 50);
	assert_int_equal(other->job.fw.status, OVT_JOB_OK);
	expect_nothing_left(mock);
}

static void the_death_of_a_client_stops_its_group_on_all_cores(void **state)
{
	struct mock *mock = mock_new(state, 3, OVT_MODE_TIMED, 64);
	struct mock_group *group =
		group_submitted(mock, 'G', 10, "1: 1000 | 10; 2: 1000 | 10; 3: | 5", 0);

	kill_context(mock, &mock->context, 50);
	run_until(mock, 2000);
	assert_int_equal(group->job.fw.status, OVT_JOB_CANCELLED);
	assert_int_equal(group->job.fw.end_ns, 50);
	assert_int_equal(mock->killed, 1);
	expect_nothing_left(mock);
}

static void a_group_of_a_dead_client_ends_as_it_arrives(void **state)
{
	struct mock *mock = mock_new(state, 2, OVT_MODE_TIMED, 64);
	struct mock_group *group;

	kill_context(mock, &mock->context, 50);
	group = group_submitted(mock, 'G', 10, two_parts, 50);
	run_until(mock, 2000);
	assert_int_equal(group->job.fw.status, OVT_JOB_CANCELLED);
	expect_starts(mock, "");
	expect_nothing_left(mock);
}

static void many_groups_arrive_in_pieces(void **state)
{
	enum { GROUPS = 50, IN_ONE_CALL = 128 / 4 };
	struct mock *mock = mock_new(state, 4, OVT_MODE_TIMED, 64);
	struct mock_group *groups[GROUPS];
	u32 i, arrived = 0;

	for (i = 0; i < GROUPS; i++)
		groups[i] = group_submitted(mock, 'G', 10, "0: 10; 0: 10; 0: 10; 0: 10", 0);
	assert_int_equal(ovt_fw_advance(&mock->fw, 0), OVT_ADVANCE_EVENTS);
	for (i = 0; i < GROUPS; i++)
		arrived += groups[i]->job.fw.state == OVT_JOB_QUEUED;
	assert_int_equal(arrived, IN_ONE_CALL);
	run_until(mock, 2000);
	expect_nothing_left(mock);
}

/* One call looks at no more than 128 parts; the host may run other calls in between. */
static void the_death_of_a_client_with_many_groups_comes_in_pieces(void **state)
{
	enum { GROUPS = 50, IN_ONE_CALL = 128 / 4 };
	struct mock *mock = mock_new(state, 4, OVT_MODE_TIMED, 64);
	struct mock_group *groups[GROUPS];
	u32 i, left = 0;

	for (i = 0; i < GROUPS; i++)
		groups[i] = group_submitted(mock, 'G', 10, "1: 1000; 2: 1000; 3: 1000; 4: 1000", 0);
	run_until(mock, 10);
	kill_context(mock, &mock->context, 50);
	assert_int_equal(ovt_fw_advance(&mock->fw, 50), OVT_ADVANCE_EVENTS);
	for (i = 0; i < GROUPS; i++)
		left += !groups[i]->job.fw.cancelled;
	assert_int_equal(left, GROUPS - IN_ONE_CALL);
	assert_int_equal(mock->killed, 0);
	run_until(mock, 2000);
	assert_int_equal(mock->killed, 1);
	expect_nothing_left(mock);
}

static void an_order_to_stop_reaches_all_running_parts(void **state)
{
	struct mock *mock = mock_new(state, 3, OVT_MODE_FUNCTIONAL, 64);
	struct mock_group *group = group_submitted(mock, 'G', 10, "1: 1000; 2: 1000; 3: 10", 0);

	submitted(mock, 'n', 3, 10, 1, 100, 0);
	drain(mock, 5);
	execute(mock, 3, 5);
	drain(mock, 20);
	ovt_fw_stop(&mock->fw, &group->job.fw, 77);
	assert_int_equal(mock->cores[0].exec.stop_ns, 77);
	assert_int_equal(mock->cores[1].exec.stop_ns, 77);
	assert_int_equal(mock->cores[2].exec.stop_ns, 0);
	run_until(mock, 2000);
	expect_nothing_left(mock);
}

/* A cancelled group leaves no FC behind, neither held nor in a circle. */
static void a_group_of_a_fair_device_leaves_nothing_behind(void **state)
{
	struct mock *mock = fair_new(state, 2, 1);
	struct mock_group *group;
	u64 at;

	for (at = 5; at < 60; at += 10) {
		group = group_new(mock, 'G', 0, "1: 10 | 10 10; 2: 25 |");
		group->job.fw.context = &mock->contexts[at / 10 % CONTEXTS];
		submit(mock, &group->job, at);
		cancel(mock, &group->job, at + 17);
	}
	run_until(mock, 1000);
	assert_int_equal(mock->cancels, 6);
	expect_nothing_left(mock);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		CASE(a_cancelled_group_ends_with_the_last_of_its_fcs),
		CASE(a_cancelled_group_ends_at_once_if_none_of_its_fcs_runs),
		CASE(a_group_counts_as_cancelled_even_if_all_its_fcs_have_started),
		CASE(no_stage_of_a_group_that_has_ended_opens),
		CASE(the_fault_of_a_part_ends_its_group_with_the_last_fc_that_runs),
		CASE(of_several_faults_the_first_is_reported_of_the_lowest_core),
		CASE(a_cancel_behind_a_fault_changes_nothing),
		CASE(the_reset_of_a_core_ends_a_group_that_runs_there),
		CASE(the_death_of_a_client_stops_its_group_on_all_cores),
		CASE(a_group_of_a_dead_client_ends_as_it_arrives),
		CASE(many_groups_arrive_in_pieces),
		CASE(the_death_of_a_client_with_many_groups_comes_in_pieces),
		CASE(an_order_to_stop_reaches_all_running_parts),
		CASE(a_group_of_a_fair_device_leaves_nothing_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
