// SPDX-License-Identifier: MIT
/*
 * Quota of a fair device (fw/quota.c): how long a context may hold cores in a second of device
 * time.  Expected times are worked out by hand.
 */
#include "cmocka_all.h"
#include "fair_host.h"

#define SECOND	OVT_QUOTA_WINDOW_NS

static u32 open_windows(const struct mock *mock)
{
	const struct ovt_list *head = &mock->fw.windows;
	const struct ovt_list *link;
	u32 count = 0;

	for (link = head->next; link != head; link = link->next)
		count++;
	return count;
}

/* Three FCs take 30: one more than the quota, the quota, one less.  Excess counts later. */
static void limits_are_exact(void **state)
{
	static const struct {
		u64 quota_ns;
		const char *trace;
	} rows[] = {
		{ 29, "A0@0 A1@10 A2@20 A3@1000000000 A4@1000000010 A5@1000000020 A6@2000000000" },
		{ 30, "A0@0 A1@10 A2@20 A3@1000000000 A4@1000000010 A5@1000000020 A6@2000000000" },
		{ 31, "A0@0 A1@10 A2@20 A3@30 A4@1000000000 A5@1000000010 A6@1000000020" },
	};
	size_t row;

	for (row = 0; row < COUNT(rows); row++) {
		struct mock *mock = fair_new_with_quota(state, 1, 1, rows[row].quota_ns);
		struct mock_job *job = submit_of(mock, 0, 'A', 0, 7, 0);

		run_until(mock, 10 * SECOND);
		expect_trace(mock, rows[row].trace);
		assert_int_equal(job->fw.status, OVT_JOB_OK);
	}
}

static void excess_counts_in_the_next_window(void **state)
{
	struct mock *mock = fair_new_with_quota(state, 1, 1, 15);
	struct mock_job *job = submit_of(mock, 0, 'A', 0, 6, 0);

	run_until(mock, 10 * SECOND);
	/* 20 exceed the quota by 5, so that one FC is enough in the next window. */
	expect_trace(mock, "A0@0 A1@10 A2@1000000000 A3@2000000000 A4@2000000010 A5@3000000000");
	assert_int_equal(job->fw.context->quota.rests, 4);
}

static void a_window_below_its_quota_leaves_nothing_for_the_next_one(void **state)
{
	struct mock *mock = fair_new_with_quota(state, 1, 1, 11);

	submit_of(mock, 0, 'A', 0, 1, 0);
	submit_of(mock, 0, 'B', 0, 2, SECOND + 5);
	run_until(mock, 10 * SECOND);
	expect_trace(mock, "A0@0 B0@1000000005 B1@1000000015");
}

/* 100 use up 3 windows of 30 and 10 of the next; 110 use up 3 and 20; 120 use up 4. */
static void an_fc_longer_than_the_quota_costs_windows(void **state)
{
	struct mock *mock = fair_new_with_quota(state, 1, 1, 30);

	submit_to_core(mock, 0, 'A', 1, 0, 4, 100, 0);
	run_until(mock, 20 * SECOND);
	expect_trace(mock, "A0@0 A1@3000000000 A2@6000000000 A3@10000000000");
}

/* Windows are on no grid of seconds: the first FC after a window begins the next one. */
static void a_window_begins_with_an_fc(void **state)
{
	struct mock *mock = fair_new_with_quota(state, 1, 1, 10);

	submit_of(mock, 0, 'A', 0, 1, 500);
	submit_of(mock, 0, 'B', 0, 1, 700);
	run_until(mock, 3 * SECOND);
	assert_int_equal(open_windows(mock), 0);
	submit_of(mock, 0, 'C', 0, 1, 3 * SECOND + 7);
	submit_of(mock, 0, 'D', 0, 1, 3 * SECOND + 8);
	run_until(mock, 6 * SECOND);
	expect_trace(mock, "A0@500 B0@1000000500 C0@3000000007 D0@4000000007");
}

/* Unused quota is lost.  An FC that ends at the instant of a window's end counts in it. */
static void a_window_ends_after_the_fcs_of_its_last_instant(void **state)
{
	struct mock *mock = fair_new_with_quota(state, 1, 1, 20);

	submit_of(mock, 0, 'A', 0, 1, 0);
	submit_of(mock, 0, 'B', 0, 4, SECOND - 10);
	run_until(mock, 10 * SECOND);
	expect_trace(mock, "A0@0 B0@999999990 B1@1000000000 B2@1000000010 B3@2000000000");
}

/* An FC that ends later counts as a whole in the window that is open, or begins, at its end. */
static void an_fc_counts_when_it_ends(void **state)
{
	struct mock *mock = fair_new_with_quota(state, 1, 1, 20);

	submit_of(mock, 0, 'A', 0, 1, 0);
	submit_of(mock, 0, 'B', 0, 3, SECOND - 9);
	run_until(mock, SECOND + 1);
	assert_int_equal(open_windows(mock), 0);
	run_until(mock, 10 * SECOND);
	/* B0 ends at 1000000001, B1 at 1000000011. */
	expect_trace(mock, "A0@0 B0@999999991 B1@1000000001 B2@2000000001");
}

/* B0 ends after its window.  The end of B0 begins the window in which the context rests. */
static void an_fc_that_outlasts_its_window_begins_another(void **state)
{
	struct mock *mock = fair_new_with_quota(state, 1, 1, 20);

	submit_of(mock, 0, 'A', 0, 1, 0);
	submit_to_core(mock, 0, 'B', 1, 0, 2, 30, SECOND - 9);
	run_until(mock, 10 * SECOND);
	expect_trace(mock, "A0@0 B0@999999991 B1@2000000021");
}

/* The context has used 10, 25, 35, and at the instant 30 60: 20 count in the next window. */
static void all_cores_count_together(void **state)
{
	struct mock *mock = fair_new_with_quota(state, 2, 1, 40);

	submit_to_core(mock, 0, 'A', 1, 0, 7, 10, 0);
	submit_to_core(mock, 0, 'B', 2, 0, 4, 15, 0);
	run_until(mock, 10 * SECOND);
	expect_trace(mock, "A0@0 B0@0 A1@10 B1@15 A2@20 "
			   "A3@1000000000 B2@1000000000 A4@1000000010 "
			   "A5@2000000000 B3@2000000000 A6@2000000010");
}

/* The committed FCs take 40, which is the quota of four windows. */
static void what_is_committed_runs_and_counts(void **state)
{
	struct mock *mock = fair_new_with_quota(state, 1, 4, 10);

	submit_of(mock, 0, 'A', 0, 6, 0);
	run_until(mock, 10 * SECOND);
	expect_trace(mock, "A0@0 A1@10 A2@20 A3@30 A4@4000000000 A5@4000000010");
}

static void the_next_instant_is_the_windows_end(void **state)
{
	struct mock *mock = fair_new_with_quota(state, 1, 0, 10);
	struct ovt_fw *fw = &mock->fw;

	submit_of(mock, 0, 'A', 0, 2, 50);
	run_until(mock, 100);
	assert_int_equal(ovt_fw_next(fw), SECOND + 50);
	assert_true(ovt_fw_settled(fw, SECOND + 49));
	assert_false(ovt_fw_settled(fw, SECOND + 50));
	run_until(mock, SECOND + 51);
	assert_int_equal(ovt_fw_next(fw), SECOND + 60);
	run_until(mock, SECOND + 100);
	assert_int_equal(ovt_fw_next(fw), 2 * SECOND + 50);
	run_until(mock, 2 * SECOND + 51);
	assert_int_equal(ovt_fw_next(fw), OVT_TIME_NEVER);
	assert_int_equal(mock->trace_length, 2);
}

/* To prepare an instant ends windows and chooses nothing: later commands of it count. */
static void a_prepared_instant_ends_windows_and_chooses_later(void **state)
{
	struct mock *mock = fair_new_with_quota(state, 1, 1, 10);
	struct mock_job *first = submit_of(mock, 0, 'A', 0, 3, 0);

	submit_of(mock, 0, 'B', 0, 1, 0);
	run_until(mock, 100);
	assert_int_equal(ovt_fw_prepare(&mock->fw, SECOND), OVT_ADVANCE_DONE);
	assert_false(mock->contexts[0].quota.resting);
	assert_int_equal(mock->trace_length, 1);
	cancel(mock, first, SECOND);
	run_until(mock, 10 * SECOND);
	expect_trace(mock, "A0@0 B0@1000000000");

	mock = fair_new_with_quota(state, 1, 1, 10);
	first = submit_of(mock, 0, 'A', 0, 2, 0);
	run_until(mock, 100);
	assert_int_equal(ovt_fw_prepare(&mock->fw, SECOND), OVT_ADVANCE_DONE);
	run_until(mock, 10 * SECOND);
	expect_trace(mock, "A0@0 A1@1000000000");
}

/* While A rests, B has the core as if A were not there. */
static void a_neighbour_has_what_rests_leave(void **state)
{
	struct mock *mock = fair_new_with_quota(state, 1, 1, 20);

	submit_of(mock, 0, 'A', 0, 4, 0);
	submit_to_core(mock, 1, 'B', 1, 0, 6, 2, 0);
	run_until(mock, 10 * SECOND);
	expect_trace(mock, "A0@0 B0@10 A1@12 B1@22 B2@24 B3@26 B4@28 B5@30 "
			   "A2@1000000000 A3@1000000010");
}

/* After its rest a context begins a new turn, behind the others.  A had one FC left of two. */
static void a_context_that_has_rested_joins_at_the_end(void **state)
{
	struct mock *mock = fair_new_with_quota(state, 1, 1, 30);

	submit_of(mock, 0, 'A', 32, 6, 0);
	submit_to_core(mock, 1, 'B', 1, 0, 2, 5, 5);
	submit_to_core(mock, 1, 'C', 1, 0, 3, 5, SECOND - 2);
	run_until(mock, 10 * SECOND);
	/* C0 runs when A comes again; C1 is before A, since A joins at the end. */
	expect_trace(mock, "A0@0 A1@10 B0@20 A2@25 B1@35 C0@999999998 C1@1000000003 "
			   "A3@1000000008 A4@1000000018 C2@1000000028 A5@1000000033");
}

/* B rests first, but A's window began before B's, in the same instant. */
static void contexts_return_in_the_order_of_their_windows(void **state)
{
	struct mock *mock = fair_new_with_quota(state, 2, 1, 5);

	submit_to_core(mock, 0, 'A', 1, 0, 2, 6, 0);
	submit_to_core(mock, 1, 'B', 2, 0, 1, 5, 0);
	submit_to_core(mock, 1, 'C', 1, 0, 1, 5, 5);
	run_until(mock, 10 * SECOND);
	expect_trace(mock, "A0@0 B0@0 A1@1000000000 C0@1000000006");
}

/* With core limit 0 the older of two jobs goes first, unless it rests. */
static void high_neither_counts_nor_rests(void **state)
{
	struct mock *mock = fair_new_with_quota(state, 1, 0, 10);

	submit_of(mock, 0, 'H', 255, 3, 0);
	submit_of(mock, 0, 'A', 0, 3, 0);
	submit_of(mock, 0, 'I', 255, 2, 100);
	run_until(mock, 200);
	assert_int_equal(mock->contexts[0].quota.used_ns, 10);
	assert_true(mock->contexts[0].quota.resting);
	run_until(mock, 10 * SECOND);
	expect_trace(mock, "H0@0 H1@10 H2@20 A0@30 I0@100 I1@110 A1@1000000030 A2@2000000030");
}

static void a_resting_context_is_cancelled_at_once(void **state)
{
	struct mock *mock = fair_new_with_quota(state, 1, 1, 10);
	struct mock_job *jobs[4];

	jobs[0] = submit_of(mock, 0, 'A', 0, 3, 0);
	jobs[1] = submit_of(mock, 0, 'B', 0, 2, 1);
	cancel(mock, jobs[0], 500);
	cancel(mock, jobs[1], 600);
	jobs[2] = submit_of(mock, 0, 'C', 0, 1, 700);
	jobs[3] = submit_of(mock, 1, 'D', 0, 1, SECOND - 5);
	run_until(mock, 800);
	assert_int_equal(jobs[0]->fw.status, OVT_JOB_CANCELLED);
	assert_int_equal(jobs[0]->fw.end_ns, 500);
	assert_int_equal(jobs[1]->fw.end_ns, 600);
	assert_int_equal(mock->states[0].resting, 1);
	run_until(mock, 10 * SECOND);
	expect_trace(mock, "A0@0 D0@999999995 C0@1000000005");
}

static void a_resting_context_is_killed_at_once(void **state)
{
	struct mock *mock = fair_new_with_quota(state, 2, 2, 10);
	struct mock_job *first = submit_to_core(mock, 0, 'A', 1, 0, 5, 10, 0);
	struct mock_job *second = submit_to_core(mock, 0, 'B', 2, 0, 5, 30, 0);
	struct mock_job *late;

	run_until(mock, 100);
	assert_true(mock->contexts[0].quota.resting);
	kill_context(mock, &mock->contexts[0], 200);
	run_until(mock, 201);
	assert_int_equal(mock->killed, 1);
	assert_int_equal(first->fw.end_ns, 200);
	assert_int_equal(second->fw.end_ns, 200);
	assert_int_equal(open_windows(mock), 0);
	assert_int_equal(ovt_fw_next(&mock->fw), OVT_TIME_NEVER);
	/* A later job of the context joins no circle, either. */
	late = submit_of(mock, 0, 'C', 0, 2, 300);
	run_until(mock, 10 * SECOND);
	assert_int_equal(late->fw.end_ns, 300);
	expect_trace(mock, "A0@0 B0@0 A1@10 B1@30");
}

/* The FC that is stopped counts, but opens no window for a context that is gone. */
static void a_context_killed_while_it_runs_is_forgotten(void **state)
{
	struct mock *mock = fair_new_with_quota(state, 1, 1, 10);
	struct mock_job *job = submit_to_core(mock, 0, 'A', 1, 0, 5, 20, 0);

	drain(mock, 5);
	assert_true(ovt_fw_runnable(&mock->fw, 1));
	kill_context(mock, &mock->contexts[0], 12);
	run_until(mock, 100);
	assert_int_equal(mock->killed, 1);
	assert_true(job->ended);
	assert_int_equal(open_windows(mock), 0);
}

static void a_held_device_renews_and_waits(void **state)
{
	struct mock *mock = fair_new_with_quota(state, 1, 1, 10);

	submit_of(mock, 0, 'A', 0, 2, 0);
	hold(mock, SECOND - 5);
	release(mock, SECOND + 100);
	run_until(mock, 10 * SECOND);
	expect_trace(mock, "A0@0 A1@1000000100");
}

/* A job is placed as if no resting work existed, unless its own context rests. */
static void placement_looks_at_what_may_run(void **state)
{
	struct mock *mock = fair_new_with_quota(state, 2, 1, 10);
	struct mock_job *other, *third, *own;

	submit_of(mock, 0, 'A', 0, 5, 0);
	other = submit_to_core(mock, 1, 'B', OVT_CORE_ANY, 0, 1, 5, 20);
	third = submit_to_core(mock, 1, 'C', OVT_CORE_ANY, 0, 1, 1, 21);
	own = submit_to_core(mock, 0, 'D', OVT_CORE_ANY, 0, 1, 5, 30);
	run_until(mock, 100);
	assert_int_equal(other->fw.placed_core, 1);
	assert_int_equal(third->fw.placed_core, 2);
	assert_int_equal(own->fw.placed_core, 2);
	assert_int_equal(own->fw.started, 0);
	run_until(mock, 10 * SECOND);
}

#define MANY	100

/* A call ends at most 64 windows, so that the host can release its lock in between. */
static void one_call_ends_a_bounded_number_of_windows(void **state)
{
	struct mock *mock = fair_new_with_quota(state, 1, 1, 11);
	struct ovt_fw_context contexts[MANY];
	struct ovt_fw_turn turns[MANY];
	struct mock_job *jobs[MANY];
	u32 index;

	for (index = 0; index < MANY; index++) {
		ovt_fw_context_init(&contexts[index]);
		ovt_fw_context_take_turns(&contexts[index], &turns[index], 1);
		jobs[index] = job_new(mock, 'A', 1, 0, 1, 10);
		jobs[index]->fw.context = &contexts[index];
		submit(mock, jobs[index], 0);
	}
	run_until(mock, 10 * MANY + 1);
	assert_int_equal(open_windows(mock), MANY);
	assert_int_equal(ovt_fw_advance(&mock->fw, 3 * SECOND), OVT_ADVANCE_EVENTS);
	assert_int_equal(open_windows(mock), MANY - 64);
	assert_int_equal(ovt_fw_advance(&mock->fw, 3 * SECOND), OVT_ADVANCE_DONE);
	assert_int_equal(open_windows(mock), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(limits_are_exact),
		CASE(excess_counts_in_the_next_window),
		CASE(a_window_below_its_quota_leaves_nothing_for_the_next_one),
		CASE(an_fc_longer_than_the_quota_costs_windows),
		CASE(a_window_begins_with_an_fc),
		CASE(a_window_ends_after_the_fcs_of_its_last_instant),
		CASE(an_fc_counts_when_it_ends),
		CASE(an_fc_that_outlasts_its_window_begins_another),
		CASE(all_cores_count_together),
		CASE(what_is_committed_runs_and_counts),
		CASE(the_next_instant_is_the_windows_end),
		CASE(a_prepared_instant_ends_windows_and_chooses_later),
		CASE(a_neighbour_has_what_rests_leave),
		CASE(a_context_that_has_rested_joins_at_the_end),
		CASE(contexts_return_in_the_order_of_their_windows),
		CASE(high_neither_counts_nor_rests),
		CASE(a_resting_context_is_cancelled_at_once),
		CASE(a_resting_context_is_killed_at_once),
		CASE(a_context_killed_while_it_runs_is_forgotten),
		CASE(a_held_device_renews_and_waits),
		CASE(placement_looks_at_what_may_run),
		CASE(one_call_ends_a_bounded_number_of_windows),
	};

	return cmocka_run_group_tests_name("fw_quota", tests, NULL, NULL);
}
