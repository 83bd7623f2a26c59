// SPDX-License-Identifier: MIT
/*
 * NORMAL of a fair device: contexts take turns (docs/scenarios.md, "Fair").  Every expected order is
 * worked out by hand.
 */
#include <stdlib.h>

#include "cmocka_all.h"
#include "fair_host.h"

/* A turn is 1 + priority / 32 FCs of the job that begins it. */
static void priority_weighs_turns(void **state)
{
	static const struct {
		u32 priority;
		u32 weight;
	} rows[] = {
		{ 0, 1 }, { 31, 1 }, { 32, 2 }, { 63, 2 }, { 64, 3 }, { 127, 4 }, { 223, 7 },
		{ 224, 8 }, { 254, 8 },
	};
	size_t row;

	(void)state;
	for (row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		struct fair *fair = fair_new(1, 0);
		struct mock_job *heavy = submit_of(fair, 0, 'A', rows[row].priority, 20, 0);
		struct mock_job *light = submit_of(fair, 1, 'B', 0, 20, 0);
		u32 index;

		run_until(fair->mock, 100000);
		for (index = 0; index < rows[row].weight; index++)
			assert_int_equal(fair->mock->trace[index].job, 'A');
		assert_int_equal(fair->mock->trace[index].job, 'B');
		assert_int_equal(fair->mock->trace[index + 1].job, 'A');
		assert_int_equal(fair->mock->trace_length, 40);
		job_free(heavy);
		job_free(light);
		fair_free(fair);
	}
}

/* What a turn is worth is settled when it begins: a job behind that one's counts next time. */
static void a_turn_keeps_its_allowance(void **state)
{
	struct fair *fair = fair_new(1, 0);
	struct mock_job *first = submit_of(fair, 0, 'A', 32, 1, 0);
	struct mock_job *second = submit_of(fair, 0, 'B', 64, 5, 0);
	struct mock_job *other = submit_of(fair, 1, 'C', 0, 3, 0);

	(void)state;
	run_until(fair->mock, 1000);
	expect_trace(fair->mock, "A0@0 B0@10 C0@20 B1@30 B2@40 B3@50 C1@60 B4@70 C2@80");
	job_free(first);
	job_free(second);
	job_free(other);
	fair_free(fair);
}

/*
 * B has one FC at a time, and 7 of its allowance of 8 are lost each time that it leaves.  It comes
 * again while A0, A1 and A2 run, and stands behind A.
 */
static void who_leaves_forfeits_and_joins_at_the_end(void **state)
{
	struct fair *fair = fair_new(1, 0);
	struct mock_job *jobs[5];
	u32 index;

	(void)state;
	jobs[0] = submit_of(fair, 0, 'A', 0, 5, 0);
	jobs[1] = submit_of(fair, 1, 'B', 254, 1, 5);
	jobs[2] = submit_of(fair, 1, 'D', 254, 1, 25);
	jobs[3] = submit_of(fair, 2, 'E', 254, 2, 26);
	jobs[4] = submit_of(fair, 1, 'F', 0, 1, 45);
	run_until(fair->mock, 1000);
	/* A0 runs.  B joins behind A, which is alone and so before it. */
	expect_trace(fair->mock, "A0@0 A1@10 B0@20 A2@30 D0@40 E0@50 E1@60 A3@70 F0@80 A4@90");
	for (index = 0; index < 5; index++)
		job_free(jobs[index]);
	fair_free(fair);
}

/* A batch is what the next turns give, and closed to what comes later. */
static void batches_are_filled_by_turns(void **state)
{
	struct fair *fair = fair_new(1, 4);
	struct mock_job *jobs[4];
	u32 index;

	(void)state;
	jobs[0] = submit_of(fair, 0, 'A', 0, 4, 0);
	jobs[1] = submit_of(fair, 1, 'B', 32, 4, 0);
	jobs[2] = submit_of(fair, 2, 'C', 254, 2, 5);
	jobs[3] = submit_of(fair, 0, 'H', 255, 1, 15);
	run_until(fair->mock, 1000);
	/* A0 B0 B1 A1 | H0 | B2 B3 C0 C1 | A2 A3: after A1 A stands behind B, C came before that. */
	expect_trace(fair->mock,
		     "A0@0 B0@10 B1@20 A1@30 H0@40 B2@50 B3@60 A2@70 C0@80 C1@90 A3@100");
	assert_int_equal(jobs[0]->fw.preemptions, 1);
	assert_int_equal(jobs[1]->fw.preemptions, 1);
	assert_int_equal(jobs[2]->fw.preemptions, 0);
	for (index = 0; index < 4; index++)
		job_free(jobs[index]);
	fair_free(fair);
}

/* A batch is no longer than a ring, whatever the limit. */
static void a_batch_is_at_most_a_ring(void **state)
{
	static const u32 limits[] = { 63, 64, 65, 4000000000u };
	size_t row;

	(void)state;
	for (row = 0; row < sizeof(limits) / sizeof(limits[0]); row++) {
		struct fair *fair = fair_new(1, limits[row]);
		struct mock_job *first = submit_of(fair, 0, 'A', 0, 100, 0);
		struct mock_job *second = submit_of(fair, 1, 'B', 0, 30, 0);
		struct mock_job *high = submit_of(fair, 0, 'H', 255, 1, 5);
		u32 index;

		run_until(fair->mock, 100000);
		assert_int_equal(fair->mock->trace_length, 131);
		assert_int_equal(fair->mock->trace[row ? 64 : 63].job, 'H');
		for (index = 0; index < 60; index++)
			assert_int_equal(fair->mock->trace[index].job, index % 2 ? 'B' : 'A');
		job_free(first);
		job_free(second);
		job_free(high);
		fair_free(fair);
	}
}

/* With core limit 0 a job goes before the jobs of HIGH that came later, and after those that came before. */
static void without_preemption_arrival_counts_beside_high(void **state)
{
	struct fair *fair = fair_new(1, 0);
	struct mock_job *jobs[4];
	u32 index;

	(void)state;
	jobs[0] = submit_of(fair, 0, 'A', 0, 4, 0);
	jobs[1] = submit_of(fair, 1, 'H', 255, 2, 1);
	jobs[2] = submit_of(fair, 1, 'B', 0, 2, 2);
	jobs[3] = submit_of(fair, 2, 'I', 255, 1, 3);
	run_until(fair->mock, 1000);
	/* At 20 it is B's turn, which came after H and is still B's at 40.  All that is left came before I. */
	expect_trace(fair->mock, "A0@0 A1@10 H0@20 H1@30 B0@40 A2@50 B1@60 A3@70 I0@80");
	assert_int_equal(jobs[0]->fw.preemptions, 1);
	assert_int_equal(jobs[2]->fw.preemptions, 0);
	for (index = 0; index < 4; index++)
		job_free(jobs[index]);
	fair_free(fair);
}

/* Committed FCs of a cancelled job leave the batch, count as given, and nothing moves up. */
static void cancel_in_a_batch(void **state)
{
	struct fair *fair = fair_new(1, 4);
	struct mock_job *first = submit_of(fair, 0, 'A', 32, 3, 0);
	struct mock_job *second = submit_of(fair, 0, 'B', 32, 3, 0);
	struct mock_job *other = submit_of(fair, 1, 'C', 32, 4, 0);
	struct mock_job *high = submit_of(fair, 1, 'H', 255, 1, 5);

	(void)state;
	cancel(fair->mock, first, 6);
	run_until(fair->mock, 1000);
	/* A0 A1 C0 C1 were committed; A1 goes, A2 was not given.  A's next turn begins with B0. */
	expect_trace(fair->mock, "A0@0 C0@10 C1@20 H0@30 B0@40 B1@50 C2@60 C3@70 B2@80");
	job_free(first);
	job_free(second);
	job_free(other);
	job_free(high);
	fair_free(fair);
}

/* Who has nothing left that waits leaves the circle wherever he stands, and his turn is over. */
static void cancel_of_the_last_that_waits(void **state)
{
	struct fair *fair = fair_new(1, 0);
	struct mock_job *jobs[5];
	u32 index;

	(void)state;
	jobs[0] = submit_of(fair, 0, 'A', 254, 8, 0);
	jobs[1] = submit_of(fair, 1, 'B', 0, 2, 0);
	jobs[2] = submit_of(fair, 2, 'C', 0, 2, 0);
	/* In the middle of A's turn, and B's before it came. */
	cancel(fair->mock, jobs[0], 15);
	cancel(fair->mock, jobs[1], 16);
	jobs[3] = submit_of(fair, 1, 'D', 0, 2, 17);
	jobs[4] = submit_of(fair, 0, 'E', 32, 3, 18);
	run_until(fair->mock, 1000);
	expect_trace(fair->mock, "A0@0 A1@10 C0@20 D0@30 E0@40 E1@50 C1@60 D1@70 E2@80");
	assert_int_equal(jobs[1]->fw.status, OVT_JOB_CANCELLED);
	for (index = 0; index < 5; index++)
		job_free(jobs[index]);
	fair_free(fair);
}

/* Each core has its own circle, and a context a turn on each. */
static void cores_have_circles_of_their_own(void **state)
{
	struct fair *fair = fair_new(2, 1);
	struct mock_job *jobs[4];
	static const u32 contexts[] = { 0, 1, 0, 1 };
	static const u32 cores[] = { 1, 1, 2, 2 };
	static const u32 priorities[] = { 32, 0, 0, 32 };
	u32 index;

	(void)state;
	for (index = 0; index < 4; index++) {
		jobs[index] = job_new(fair->mock, (char)('A' + index), cores[index],
				      priorities[index], 3, 10);
		jobs[index]->fw.context = &fair->contexts[contexts[index]];
		submit(fair->mock, jobs[index], 0);
	}
	run_until(fair->mock, 1000);
	expect_trace(fair->mock,
		     "A0@0 C0@0 A1@10 D0@10 B0@20 D1@20 A2@30 C1@30 B1@40 D2@40 B2@50 C2@50");
	for (index = 0; index < 4; index++)
		job_free(jobs[index]);
	fair_free(fair);
}

/* After m HIGH FCs the one FC whose turn it is runs, and it is that context's turn that goes on. */
static void a_normal_floor_takes_turns(void **state)
{
	struct fair *fair = fair_new(1, 4);
	struct mock_job *high = submit_of(fair, 2, 'H', 255, 6, 0);
	struct mock_job *first = submit_of(fair, 0, 'A', 0, 3, 0);
	struct mock_job *second = submit_of(fair, 1, 'B', 32, 3, 0);

	(void)state;
	set_normal_floor(fair->mock, 1, 2, 0);
	run_until(fair->mock, 1000);
	expect_trace(fair->mock, "H0@0 H1@10 A0@20 H2@30 H3@40 B0@50 H4@60 H5@70 "
				 "B1@80 A1@90 B2@100 A2@110");
	assert_int_equal(first->fw.preemptions, 1);
	assert_int_equal(second->fw.preemptions, 1);
	job_free(high);
	job_free(first);
	job_free(second);
	fair_free(fair);
}

/* A changed limit counts when what is committed has run. */
static void a_changed_limit_waits_for_the_batch(void **state)
{
	struct fair *fair = fair_new(1, 3);
	struct mock_job *first = submit_of(fair, 0, 'A', 0, 4, 0);
	struct mock_job *second = submit_of(fair, 1, 'B', 0, 2, 0);
	struct mock_job *high = submit_of(fair, 2, 'H', 255, 1, 5);
	struct mock_job *last;

	(void)state;
	set_limit(fair->mock, 1, 0, 6);
	last = submit_of(fair, 2, 'I', 255, 1, 35);
	run_until(fair->mock, 1000);
	/* A0 B0 A1 | limit 0: B1 is older than H, and so is A2, which came with A. */
	expect_trace(fair->mock, "A0@0 B0@10 A1@20 B1@30 A2@40 A3@50 H0@60 I0@70");
	job_free(first);
	job_free(second);
	job_free(high);
	job_free(last);
	fair_free(fair);
}

static void a_killed_context_leaves_every_circle(void **state)
{
	struct fair *fair = fair_new(2, 2);
	struct mock_job *jobs[12];
	u32 index;

	(void)state;
	for (index = 0; index < 12; index++) {
		jobs[index] = job_new(fair->mock, (char)('A' + index), 1 + index % 2,
				      index % 3 ? 64 : 255, 3, 10);
		jobs[index]->fw.context = &fair->contexts[index % 3 ? index % 2 : 0];
		submit(fair->mock, jobs[index], 0);
	}
	kill_context(fair->mock, &fair->contexts[0], 35);
	run_until(fair->mock, 34);
	run_until(fair->mock, 10000);
	assert_int_equal(fair->mock->killed, 1);
	for (index = 0; index < 12; index++) {
		assert_true(jobs[index]->ended);
		if (jobs[index]->fw.context == &fair->contexts[0])
			assert_true(jobs[index]->fw.end_ns <= 35);
		else
			assert_int_equal(jobs[index]->fw.status, OVT_JOB_OK);
		job_free(jobs[index]);
	}
	fair_free(fair);
}

/* With one context and limits up to a ring's length a fair device is like any other. */
static void one_context_sees_no_difference(void **state)
{
	static const u32 limits[] = { 0, 1, 2, 5, 64 };
	size_t row;

	(void)state;
	for (row = 0; row < sizeof(limits) / sizeof(limits[0]); row++) {
		static struct started expected[MAX_TRACE];
		u32 expected_length = 0;
		u32 preempted = 0;
		int fair_too;

		for (fair_too = 0; fair_too < 2; fair_too++) {
			struct fair *fair = fair_new(2, limits[row]);
			struct mock *mock = fair_too ? fair->mock : mock_new(2, OVT_MODE_TIMED, 64);
			struct mock_job *jobs[60];
			u64 random = 99;
			u32 index;

			if (!fair_too)
				for (index = 1; index <= 2; index++)
					set_limit(mock, index, limits[row], 0);
			for (index = 0; index < 60; index++) {
				random = random * 6364136223846793005ull + 1442695040888963407ull;
				jobs[index] = job_new(mock, (char)('A' + index % 26),
						      (random >> 33) % 3,
						      (random >> 40) % 4 ? (random >> 41) % 255 : 255,
						      1 + (random >> 45) % 9, 1 + (random >> 50) % 30);
				if (fair_too)
					jobs[index]->fw.context = &fair->contexts[0];
				submit(mock, jobs[index], index * 9);
				if ((random >> 36) % 5 == 0)
					cancel(mock, jobs[index], index * 9);
				run_until(mock, index * 9 + 1);
			}
			run_until(mock, 1000000);
			if (!fair_too) {
				memcpy(expected, mock->trace, sizeof(expected));
				expected_length = mock->trace_length;
				preempted = mock->preempted;
			}
			assert_int_equal(mock->trace_length, expected_length);
			assert_memory_equal(mock->trace, expected,
					    expected_length * sizeof(expected[0]));
			assert_int_equal(mock->preempted, preempted);
			for (index = 0; index < 60; index++)
				job_free(jobs[index]);
			if (!fair_too)
				free(mock);
			fair_free(fair);
		}
		assert_true(expected_length > 100);
	}
}

/*
 * The promise: whatever a neighbour has waiting, an FC waits for what was committed when it came and
 * for one turn of the neighbour, counted in FCs.
 */
static void a_thousand_jobs_delay_a_neighbour_by_a_turn(void **state)
{
	static const u32 limits[] = { 0, 1, 8, 64 };
	static struct mock_job *pile[1000];
	size_t row;

	(void)state;
	for (row = 0; row < sizeof(limits) / sizeof(limits[0]); row++) {
		u32 batch = limits[row] ? limits[row] : 1;
		struct fair *fair = fair_new(1, limits[row]);
		struct mock_job *copy;
		u32 index, before;

		for (index = 0; index < 1000; index++) {
			assert_true(ovt_fw_reserve(&fair->mock->fw, 2));
			pile[index] = job_new(fair->mock, 'P', 1, 254, 1, 10);
			pile[index]->fw.context = &fair->contexts[0];
			ovt_fw_submit(&fair->mock->fw, &pile[index]->fw, 0);
			drain(fair->mock, 0);
			ovt_fw_unreserve(&fair->mock->fw, 1);
		}
		run_until(fair->mock, 2005);
		before = fair->mock->trace_length;
		copy = submit_of(fair, 1, 'C', 0, 1, 2005);
		run_until(fair->mock, 100000);
		for (index = before; fair->mock->trace[index].job != 'C'; index++)
			;
		assert_true(index - before <= batch + 8);
		assert_true(copy->fw.start_ns <= 2005 + 10 * (batch + 8));
		assert_int_equal(fair->mock->trace_length, 1001);
		for (index = 0; index < 1000; index++)
			job_free(pile[index]);
		job_free(copy);
		fair_free(fair);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(priority_weighs_turns),
		cmocka_unit_test(a_turn_keeps_its_allowance),
		cmocka_unit_test(who_leaves_forfeits_and_joins_at_the_end),
		cmocka_unit_test(batches_are_filled_by_turns),
		cmocka_unit_test(a_batch_is_at_most_a_ring),
		cmocka_unit_test(without_preemption_arrival_counts_beside_high),
		cmocka_unit_test(cancel_in_a_batch),
		cmocka_unit_test(cancel_of_the_last_that_waits),
		cmocka_unit_test(cores_have_circles_of_their_own),
		cmocka_unit_test(a_normal_floor_takes_turns),
		cmocka_unit_test(a_changed_limit_waits_for_the_batch),
		cmocka_unit_test(a_killed_context_leaves_every_circle),
		cmocka_unit_test(one_context_sees_no_difference),
		cmocka_unit_test(a_thousand_jobs_delay_a_neighbour_by_a_turn),
	};

	return cmocka_run_group_tests_name("fw_fair", tests, NULL, NULL);
}
