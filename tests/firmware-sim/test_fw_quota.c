// SPDX-License-Identifier: MIT
/*
 * Quota of a fair device (fw/quota.c): how long a context may hold cores in a second of device
 * time.
 * Expected times are worked out by hand.
 */
#include <stdlib.h>

#include "cmocka_all.h"
#include "fair_host.h"

#define SECOND	OVT_QUOTA_WINDOW_NS

static u32 open_windows(const struct fair *fair)
{
	const struct ovt_list *head = &fair->mock->fw.windows;
	const struct ovt_list *link;
	u32 count = 0;

	for (link = head->next; link != head; link = link->next)
		count++;
	return count;
}

/* One below, at and one above a quota; what was too much is missing in the next window. */
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

	(void)state;
	for (row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		struct fair *fair = fair_new_with_quota(1, 1, rows[row].quota_ns);
		struct mock_job *job = submit_of(fair, 0, 'A', 0, 7, 0);

		run_until(fair->mock, 10 * SECOND);
		expect_trace(fair->mock, rows[row].trace);
		assert_int_equal(job->fw.status, OVT_JOB_OK);
		job_free(job);
		fair_free(fair);
	}
}

static void excess_counts_in_the_next_window(void **state)
{
	struct fair *fair = fair_new_with_quota(1, 1, 15);
	struct mock_job *job = submit_of(fair, 0, 'A', 0, 6, 0);

	(void)state;
	run_until(fair->mock, 10 * SECOND);
	/* 20 are 5 too many, so one FC is enough in the next window. */
	expect_trace(fair->mock, "A0@0 A1@10 A2@1000000000 A3@2000000000 A4@2000000010 A5@3000000000");
	assert_int_equal(job->fw.context->quota.rests, 4);
	job_free(job);
	fair_free(fair);
}

static void a_window_below_its_quota_leaves_nothing_for_the_next_one(void **state)
{
	struct fair *fair = fair_new_with_quota(1, 1, 11);
	struct mock_job *first = submit_of(fair, 0, 'A', 0, 1, 0);
	struct mock_job *second = submit_of(fair, 0, 'B', 0, 2, SECOND + 5);

	(void)state;
	run_until(fair->mock, 10 * SECOND);
	expect_trace(fair->mock, "A0@0 B0@1000000005 B1@1000000015");
	job_free(first);
	job_free(second);
	fair_free(fair);
}

/* 100 are worth 3 windows of 30 and 10 in the fourth; 110 then 3 windows and 20; 120 are 4. */
static void an_fc_longer_than_the_quota_costs_windows(void **state)
{
	struct fair *fair = fair_new_with_quota(1, 1, 30);
	struct mock_job *job = submit_to_core(fair, 0, 'A', 1, 0, 4, 100, 0);

	(void)state;
	run_until(fair->mock, 20 * SECOND);
	expect_trace(fair->mock, "A0@0 A1@3000000000 A2@6000000000 A3@10000000000");
	job_free(job);
	fair_free(fair);
}

/* No grid of seconds: a window is there from the first FC after the one before. */
static void a_window_begins_with_an_fc(void **state)
{
	struct fair *fair = fair_new_with_quota(1, 1, 10);
	struct mock_job *jobs[4];
	u32 index;

	(void)state;
	jobs[0] = submit_of(fair, 0, 'A', 0, 1, 500);
	jobs[1] = submit_of(fair, 0, 'B', 0, 1, 700);
	run_until(fair->mock, 3 * SECOND);
	assert_int_equal(open_windows(fair), 0);
	jobs[2] = submit_of(fair, 0, 'C', 0, 1, 3 * SECOND + 7);
	jobs[3] = submit_of(fair, 0, 'D', 0, 1, 3 * SECOND + 8);
	run_until(fair->mock, 6 * SECOND);
	expect_trace(fair->mock, "A0@500 B0@1000000500 C0@3000000007 D0@4000000007");
	for (index = 0; index < 4; index++)
		job_free(jobs[index]);
	fair_free(fair);
}

/* What is not used up is lost; an FC that ends when the window does counts in it. */
static void a_window_ends_after_the_fcs_of_its_last_instant(void **state)
{
	struct fair *fair = fair_new_with_quota(1, 1, 20);
	struct mock_job *first = submit_of(fair, 0, 'A', 0, 1, 0);
	struct mock_job *second = submit_of(fair, 0, 'B', 0, 4, SECOND - 10);

	(void)state;
	run_until(fair->mock, 10 * SECOND);
	expect_trace(fair->mock, "A0@0 B0@999999990 B1@1000000000 B2@1000000010 B3@2000000000");
	job_free(first);
	job_free(second);
	fair_free(fair);
}

/* One that ends later counts whole in the window that is open then, or begins then. */
static void an_fc_counts_when_it_ends(void **state)
{
	struct fair *fair = fair_new_with_quota(1, 1, 20);
	struct mock_job *first = submit_of(fair, 0, 'A', 0, 1, 0);
	struct mock_job *second = submit_of(fair, 0, 'B', 0, 3, SECOND - 9);

	(void)state;
	run_until(fair->mock, SECOND + 1);
	assert_int_equal(open_windows(fair), 0);
	run_until(fair->mock, 10 * SECOND);
	/* B0 ends at 1000000001, B1 at 1000000011. */
	expect_trace(fair->mock, "A0@0 B0@999999991 B1@1000000001 B2@2000000001");
	job_free(first);
	job_free(second);
	fair_free(fair);
}

/* No FC starts after it, so it is its end that begins the window in which the context rests. */
static void an_fc_that_outlasts_its_window_begins_another(void **state)
{
	struct fair *fair = fair_new_with_quota(1, 1, 20);
	struct mock_job *first = submit_of(fair, 0, 'A', 0, 1, 0);
	struct mock_job *second = submit_to_core(fair, 0, 'B', 1, 0, 2, 30, SECOND - 9);

	(void)state;
	run_until(fair->mock, 10 * SECOND);
	expect_trace(fair->mock, "A0@0 B0@999999991 B1@2000000021");
	job_free(first);
	job_free(second);
	fair_free(fair);
}

/* 10, 25, 35, then 45 and 60 at the instant 30, 20 of which are for the next window, and so on. */
static void all_cores_count_together(void **state)
{
	struct fair *fair = fair_new_with_quota(2, 1, 40);
	struct mock_job *first = submit_to_core(fair, 0, 'A', 1, 0, 7, 10, 0);
	struct mock_job *second = submit_to_core(fair, 0, 'B', 2, 0, 4, 15, 0);

	(void)state;
	run_until(fair->mock, 10 * SECOND);
	expect_trace(fair->mock, "A0@0 B0@0 A1@10 B1@15 A2@20 "
				 "A3@1000000000 B2@1000000000 A4@1000000010 "
				 "A5@2000000000 B3@2000000000 A6@2000000010");
	job_free(first);
	job_free(second);
	fair_free(fair);
}

/* 40 for a quota of 10: three whole windows more. */
static void what_is_committed_runs_and_counts(void **state)
{
	struct fair *fair = fair_new_with_quota(1, 4, 10);
	struct mock_job *job = submit_of(fair, 0, 'A', 0, 6, 0);

	(void)state;
	run_until(fair->mock, 10 * SECOND);
	expect_trace(fair->mock, "A0@0 A1@10 A2@20 A3@30 A4@4000000000 A5@4000000010");
	job_free(job);
	fair_free(fair);
}

static void the_next_instant_is_the_windows_end(void **state)
{
	struct fair *fair = fair_new_with_quota(1, 0, 10);
	struct mock_job *job = submit_of(fair, 0, 'A', 0, 2, 50);
	struct ovt_fw *fw = &fair->mock->fw;

	(void)state;
	run_until(fair->mock, 100);
	assert_int_equal(ovt_fw_next(fw), SECOND + 50);
	assert_true(ovt_fw_settled(fw, SECOND + 49));
	assert_false(ovt_fw_settled(fw, SECOND + 50));
	run_until(fair->mock, SECOND + 51);
	assert_int_equal(ovt_fw_next(fw), SECOND + 60);
	run_until(fair->mock, SECOND + 100);
	assert_int_equal(ovt_fw_next(fw), 2 * SECOND + 50);
	run_until(fair->mock, 2 * SECOND + 51);
	assert_int_equal(ovt_fw_next(fw), OVT_TIME_NEVER);
	assert_int_equal(fair->mock->trace_length, 2);
	job_free(job);
	fair_free(fair);
}

/* A window's end is no choice yet: what comes in the same instant counts. */
static void a_prepared_instant_ends_windows_and_chooses_later(void **state)
{
	struct fair *fair = fair_new_with_quota(1, 1, 10);
	struct mock_job *first = submit_of(fair, 0, 'A', 0, 3, 0);
	struct mock_job *second = submit_of(fair, 0, 'B', 0, 1, 0);

	(void)state;
	run_until(fair->mock, 100);
	assert_int_equal(ovt_fw_prepare(&fair->mock->fw, SECOND), OVT_ADVANCE_DONE);
	assert_false(fair->contexts[0].quota.resting);
	assert_int_equal(fair->mock->trace_length, 1);
	cancel(fair->mock, first, SECOND);
	run_until(fair->mock, 10 * SECOND);
	expect_trace(fair->mock, "A0@0 B0@1000000000");
	job_free(first);
	job_free(second);
	fair_free(fair);

	fair = fair_new_with_quota(1, 1, 10);
	first = submit_of(fair, 0, 'A', 0, 2, 0);
	run_until(fair->mock, 100);
	assert_int_equal(ovt_fw_prepare(&fair->mock->fw, SECOND), OVT_ADVANCE_DONE);
	run_until(fair->mock, 10 * SECOND);
	expect_trace(fair->mock, "A0@0 A1@1000000000");
	job_free(first);
	fair_free(fair);
}

/* The neighbour has the core as if the other were not there. */
static void a_neighbour_has_what_rests_leave(void **state)
{
	struct fair *fair = fair_new_with_quota(1, 1, 20);
	struct mock_job *hog = submit_of(fair, 0, 'A', 0, 4, 0);
	struct mock_job *other = submit_to_core(fair, 1, 'B', 1, 0, 6, 2, 0);

	(void)state;
	run_until(fair->mock, 10 * SECOND);
	expect_trace(fair->mock, "A0@0 B0@10 A1@12 B1@22 B2@24 B3@26 B4@28 B5@30 "
				 "A2@1000000000 A3@1000000010");
	job_free(hog);
	job_free(other);
	fair_free(fair);
}

/* A turn begins anew, behind those who are there: A has one left of two when it rests. */
static void who_has_rested_stands_at_the_end(void **state)
{
	struct fair *fair = fair_new_with_quota(1, 1, 30);
	struct mock_job *hog = submit_of(fair, 0, 'A', 32, 6, 0);
	struct mock_job *other = submit_to_core(fair, 1, 'B', 1, 0, 2, 5, 5);
	struct mock_job *late = submit_to_core(fair, 1, 'C', 1, 0, 3, 5, SECOND - 2);

	(void)state;
	run_until(fair->mock, 10 * SECOND);
	/* C0 runs when A comes again; C1 is before it, since it stands at the end. */
	expect_trace(fair->mock, "A0@0 A1@10 B0@20 A2@25 B1@35 C0@999999998 C1@1000000003 "
				 "A3@1000000008 A4@1000000018 C2@1000000028 A5@1000000033");
	job_free(hog);
	job_free(other);
	job_free(late);
	fair_free(fair);
}

/* B rests first, but A's window is the first. */
static void they_return_in_the_order_of_their_windows(void **state)
{
	struct fair *fair = fair_new_with_quota(2, 1, 5);
	struct mock_job *jobs[3];
	u32 index;

	(void)state;
	jobs[0] = submit_to_core(fair, 0, 'A', 1, 0, 2, 6, 0);
	jobs[1] = submit_to_core(fair, 1, 'B', 2, 0, 1, 5, 0);
	jobs[2] = submit_to_core(fair, 1, 'C', 1, 0, 1, 5, 5);
	run_until(fair->mock, 10 * SECOND);
	expect_trace(fair->mock, "A0@0 B0@0 A1@1000000000 C0@1000000006");
	for (index = 0; index < 3; index++)
		job_free(jobs[index]);
	fair_free(fair);
}

/* With core limit 0 the older of the two goes first; who rests is nobody's elder. */
static void high_neither_counts_nor_rests(void **state)
{
	struct fair *fair = fair_new_with_quota(1, 0, 10);
	struct mock_job *jobs[3];
	u32 index;

	(void)state;
	jobs[0] = submit_of(fair, 0, 'H', 255, 3, 0);
	jobs[1] = submit_of(fair, 0, 'A', 0, 3, 0);
	jobs[2] = submit_of(fair, 0, 'I', 255, 2, 100);
	run_until(fair->mock, 200);
	assert_int_equal(fair->contexts[0].quota.used_ns, 10);
	assert_true(fair->contexts[0].quota.resting);
	run_until(fair->mock, 10 * SECOND);
	expect_trace(fair->mock, "H0@0 H1@10 H2@20 A0@30 I0@100 I1@110 A1@1000000030 A2@2000000030");
	for (index = 0; index < 3; index++)
		job_free(jobs[index]);
	fair_free(fair);
}

static void a_resting_context_is_cancelled_at_once(void **state)
{
	struct fair *fair = fair_new_with_quota(1, 1, 10);
	struct mock_job *jobs[4];
	u32 index;

	(void)state;
	jobs[0] = submit_of(fair, 0, 'A', 0, 3, 0);
	jobs[1] = submit_of(fair, 0, 'B', 0, 2, 1);
	cancel(fair->mock, jobs[0], 500);
	cancel(fair->mock, jobs[1], 600);
	jobs[2] = submit_of(fair, 0, 'C', 0, 1, 700);
	jobs[3] = submit_of(fair, 1, 'D', 0, 1, SECOND - 5);
	run_until(fair->mock, 800);
	assert_int_equal(jobs[0]->fw.status, OVT_JOB_CANCELLED);
	assert_int_equal(jobs[0]->fw.end_ns, 500);
	assert_int_equal(jobs[1]->fw.end_ns, 600);
	assert_int_equal(fair->mock->states[0].resting, 1);
	run_until(fair->mock, 10 * SECOND);
	expect_trace(fair->mock, "A0@0 D0@999999995 C0@1000000005");
	for (index = 0; index < 4; index++)
		job_free(jobs[index]);
	fair_free(fair);
}

static void a_resting_context_is_killed_at_once(void **state)
{
	struct fair *fair = fair_new_with_quota(2, 2, 10);
	struct mock_job *first = submit_to_core(fair, 0, 'A', 1, 0, 5, 10, 0);
	struct mock_job *second = submit_to_core(fair, 0, 'B', 2, 0, 5, 30, 0);
	struct mock_job *late;

	(void)state;
	run_until(fair->mock, 100);
	assert_true(fair->contexts[0].quota.resting);
	kill_context(fair->mock, &fair->contexts[0], 200);
	run_until(fair->mock, 201);
	assert_int_equal(fair->mock->killed, 1);
	assert_int_equal(first->fw.end_ns, 200);
	assert_int_equal(second->fw.end_ns, 200);
	assert_int_equal(open_windows(fair), 0);
	assert_int_equal(ovt_fw_next(&fair->mock->fw), OVT_TIME_NEVER);
	/* What comes for it later finds no circle either. */
	late = submit_of(fair, 0, 'C', 0, 2, 300);
	run_until(fair->mock, 10 * SECOND);
	assert_int_equal(late->fw.end_ns, 300);
	expect_trace(fair->mock, "A0@0 B0@0 A1@10 B1@30");
	job_free(first);
	job_free(second);
	job_free(late);
	fair_free(fair);
}

/* The FC that is stopped counts, and leaves nothing behind of a context that is gone with it. */
static void a_context_killed_while_it_runs_is_forgotten(void **state)
{
	struct fair *fair = fair_new_with_quota(1, 1, 10);
	struct mock_job *job = submit_to_core(fair, 0, 'A', 1, 0, 5, 20, 0);

	(void)state;
	drain(fair->mock, 5);
	assert_true(ovt_fw_runnable(&fair->mock->fw, 1));
	kill_context(fair->mock, &fair->contexts[0], 12);
	run_until(fair->mock, 100);
	assert_int_equal(fair->mock->killed, 1);
	assert_true(job->ended);
	assert_int_equal(open_windows(fair), 0);
	job_free(job);
	fair_free(fair);
}

static void a_held_device_renews_and_waits(void **state)
{
	struct fair *fair = fair_new_with_quota(1, 1, 10);
	struct mock_job *job = submit_of(fair, 0, 'A', 0, 2, 0);

	(void)state;
	hold(fair->mock, SECOND - 5);
	release(fair->mock, SECOND + 100);
	run_until(fair->mock, 10 * SECOND);
	expect_trace(fair->mock, "A0@0 A1@1000000100");
	job_free(job);
	fair_free(fair);
}

/* What rests keeps nobody from a core, except those who rest as well. */
static void placement_looks_at_what_may_run(void **state)
{
	struct fair *fair = fair_new_with_quota(2, 1, 10);
	struct mock_job *hog = submit_of(fair, 0, 'A', 0, 5, 0);
	struct mock_job *other = submit_to_core(fair, 1, 'B', OVT_CORE_ANY, 0, 1, 5, 20);
	struct mock_job *third = submit_to_core(fair, 1, 'C', OVT_CORE_ANY, 0, 1, 1, 21);
	struct mock_job *own = submit_to_core(fair, 0, 'D', OVT_CORE_ANY, 0, 1, 5, 30);

	(void)state;
	run_until(fair->mock, 100);
	assert_int_equal(other->fw.placed_core, 1);
	assert_int_equal(third->fw.placed_core, 2);
	assert_int_equal(own->fw.placed_core, 2);
	assert_int_equal(own->fw.started, 0);
	run_until(fair->mock, 10 * SECOND);
	job_free(hog);
	job_free(other);
	job_free(third);
	job_free(own);
	fair_free(fair);
}

#define MANY	100

/* However many have ended when the host comes, it has the lock back after some of them. */
static void one_call_ends_a_bounded_number_of_windows(void **state)
{
	struct fair *fair = fair_new_with_quota(1, 1, 11);
	struct ovt_fw_context contexts[MANY];
	struct ovt_fw_turn turns[MANY];
	struct mock_job *jobs[MANY];
	u32 index;

	(void)state;
	for (index = 0; index < MANY; index++) {
		ovt_fw_context_init(&contexts[index]);
		ovt_fw_context_take_turns(&contexts[index], &turns[index], 1);
		jobs[index] = job_new(fair->mock, 'A', 1, 0, 1, 10);
		jobs[index]->fw.context = &contexts[index];
		submit(fair->mock, jobs[index], 0);
	}
	run_until(fair->mock, 10 * MANY + 1);
	assert_int_equal(open_windows(fair), MANY);
	assert_int_equal(ovt_fw_advance(&fair->mock->fw, 3 * SECOND), OVT_ADVANCE_EVENTS);
	assert_int_equal(open_windows(fair), MANY - 64);
	assert_int_equal(ovt_fw_advance(&fair->mock->fw, 3 * SECOND), OVT_ADVANCE_DONE);
	assert_int_equal(open_windows(fair), 0);
	for (index = 0; index < MANY; index++)
		job_free(jobs[index]);
	fair_free(fair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_are_exact),
		cmocka_unit_test(excess_counts_in_the_next_window),
		cmocka_unit_test(a_window_below_its_quota_leaves_nothing_for_the_next_one),
		cmocka_unit_test(an_fc_longer_than_the_quota_costs_windows),
		cmocka_unit_test(a_window_begins_with_an_fc),
		cmocka_unit_test(a_window_ends_after_the_fcs_of_its_last_instant),
		cmocka_unit_test(an_fc_counts_when_it_ends),
		cmocka_unit_test(an_fc_that_outlasts_its_window_begins_another),
		cmocka_unit_test(all_cores_count_together),
		cmocka_unit_test(what_is_committed_runs_and_counts),
		cmocka_unit_test(the_next_instant_is_the_windows_end),
		cmocka_unit_test(a_prepared_instant_ends_windows_and_chooses_later),
		cmocka_unit_test(a_neighbour_has_what_rests_leave),
		cmocka_unit_test(who_has_rested_stands_at_the_end),
		cmocka_unit_test(they_return_in_the_order_of_their_windows),
		cmocka_unit_test(high_neither_counts_nor_rests),
		cmocka_unit_test(a_resting_context_is_cancelled_at_once),
		cmocka_unit_test(a_resting_context_is_killed_at_once),
		cmocka_unit_test(a_context_killed_while_it_runs_is_forgotten),
		cmocka_unit_test(a_held_device_renews_and_waits),
		cmocka_unit_test(placement_looks_at_what_may_run),
		cmocka_unit_test(one_call_ends_a_bounded_number_of_windows),
	};

	return cmocka_run_group_tests_name("fw_quota", tests, NULL, NULL);
}
