// SPDX-License-Identifier: MIT
/*
 * NORMAL of a fair device: contexts take turns (docs/reference/scenarios.md, "Fair").  Every
 * expected order is worked out by hand.
 */
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

	for (row = 0; row < COUNT(rows); row++) {
		struct mock *mock = fair_new(state, 1, 0);
		u32 index;

		submit_of(mock, 0, 'A', rows[row].priority, 20, 0);
		submit_of(mock, 1, 'B', 0, 20, 0);
		run_until(mock, 100000);
		for (index = 0; index < rows[row].weight; index++)
			assert_int_equal(mock->trace[index].job, 'A');
		assert_int_equal(mock->trace[index].job, 'B');
		assert_int_equal(mock->trace[index + 1].job, 'A');
		assert_int_equal(mock->trace_length, 40);
	}
}

/* The first job of a turn sets its allowance; the priority of the next job counts next time. */
static void a_turn_keeps_its_allowance(void **state)
{
	struct mock *mock = fair_new(state, 1, 0);

	submit_of(mock, 0, 'A', 32, 1, 0);
	submit_of(mock, 0, 'B', 64, 5, 0);
	submit_of(mock, 1, 'C', 0, 3, 0);
	run_until(mock, 1000);
	expect_trace(mock, "A0@0 B0@10 C0@20 B1@30 B2@40 B3@50 C1@60 B4@70 C2@80");
}

/*
 * B has one FC at a time: each time that B leaves the circle it loses 7 of its allowance of 8.  B
 * comes again while A0, A1 and A2 run, and joins behind A.
 */
static void a_context_that_leaves_forfeits_its_turn_and_joins_at_the_end(void **state)
{
	struct mock *mock = fair_new(state, 1, 0);

	submit_of(mock, 0, 'A', 0, 5, 0);
	submit_of(mock, 1, 'B', 254, 1, 5);
	submit_of(mock, 1, 'D', 254, 1, 25);
	submit_of(mock, 2, 'E', 254, 2, 26);
	submit_of(mock, 1, 'F', 0, 1, 45);
	run_until(mock, 1000);
	/* B comes while A0 runs.  A is alone in the circle, so that B joins behind A. */
	expect_trace(mock, "A0@0 A1@10 B0@20 A2@30 D0@40 E0@50 E1@60 A3@70 F0@80 A4@90");
}

/* The next turns fill a batch, which takes no FC that comes later. */
static void batches_are_filled_by_turns(void **state)
{
	struct mock *mock = fair_new(state, 1, 4);
	struct mock_job *jobs[4];

	jobs[0] = submit_of(mock, 0, 'A', 0, 4, 0);
	jobs[1] = submit_of(mock, 1, 'B', 32, 4, 0);
	jobs[2] = submit_of(mock, 2, 'C', 254, 2, 5);
	jobs[3] = submit_of(mock, 0, 'H', 255, 1, 15);
	run_until(mock, 1000);
	/* A0 B0 B1 A1 | H0 | B2 B3 A2 C0 | C1 A3: A was behind B in the circle before C came. */
	expect_trace(mock,
		     "A0@0 B0@10 B1@20 A1@30 H0@40 B2@50 B3@60 A2@70 C0@80 C1@90 A3@100");
	assert_int_equal(jobs[0]->fw.preemptions, 1);
	assert_int_equal(jobs[1]->fw.preemptions, 1);
	assert_int_equal(jobs[2]->fw.preemptions, 0);
}

/* A batch has no more FCs than a ring, whatever the limit. */
static void a_batch_is_at_most_a_ring(void **state)
{
	static const u32 limits[] = { 63, 64, 65, 4000000000u };
	size_t row;

	for (row = 0; row < COUNT(limits); row++) {
		struct mock *mock = fair_new(state, 1, limits[row]);
		u32 index;

		submit_of(mock, 0, 'A', 0, 100, 0);
		submit_of(mock, 1, 'B', 0, 30, 0);
		submit_of(mock, 0, 'H', 255, 1, 5);
		run_until(mock, 100000);
		assert_int_equal(mock->trace_length, 131);
		assert_int_equal(mock->trace[row ? 64 : 63].job, 'H');
		for (index = 0; index < 60; index++)
			assert_int_equal(mock->trace[index].job, index % 2 ? 'B' : 'A');
	}
}

/* With core limit 0 a job goes before later HIGH jobs, and after earlier ones. */
static void without_preemption_arrival_counts_beside_high(void **state)
{
	struct mock *mock = fair_new(state, 1, 0);
	struct mock_job *jobs[4];

	jobs[0] = submit_of(mock, 0, 'A', 0, 4, 0);
	jobs[1] = submit_of(mock, 1, 'H', 255, 2, 1);
	jobs[2] = submit_of(mock, 1, 'B', 0, 2, 2);
	jobs[3] = submit_of(mock, 2, 'I', 255, 1, 3);
	run_until(mock, 1000);
	/* At 20 and 40 it is B's turn.  B came after H.  All FCs that are left came before I. */
	expect_trace(mock, "A0@0 A1@10 H0@20 H1@30 B0@40 A2@50 B1@60 A3@70 I0@80");
	assert_int_equal(jobs[0]->fw.preemptions, 1);
	assert_int_equal(jobs[2]->fw.preemptions, 0);
}

/* Committed FCs of a cancelled job leave the batch and count for its turn; no FC moves up. */
static void cancel_in_a_batch(void **state)
{
	struct mock *mock = fair_new(state, 1, 4);
	struct mock_job *first = submit_of(mock, 0, 'A', 32, 3, 0);

	submit_of(mock, 0, 'B', 32, 3, 0);
	submit_of(mock, 1, 'C', 32, 4, 0);
	submit_of(mock, 1, 'H', 255, 1, 5);
	cancel(mock, first, 6);
	run_until(mock, 1000);
	/* A0 A1 C0 C1 were committed; A1 leaves.  The next turn of context 0 begins with B0. */
	expect_trace(mock, "A0@0 C0@10 C1@20 H0@30 B0@40 B1@50 C2@60 C3@70 B2@80");
}

/* A context without waiting FCs leaves the circle, also in its turn, which is then over. */
static void cancel_of_the_last_that_waits(void **state)
{
	struct mock *mock = fair_new(state, 1, 0);
	struct mock_job *jobs[5];

	jobs[0] = submit_of(mock, 0, 'A', 254, 8, 0);
	jobs[1] = submit_of(mock, 1, 'B', 0, 2, 0);
	jobs[2] = submit_of(mock, 2, 'C', 0, 2, 0);
	/* A is cancelled in the middle of its turn, and B before its turn. */
	cancel(mock, jobs[0], 15);
	cancel(mock, jobs[1], 16);
	jobs[3] = submit_of(mock, 1, 'D', 0, 2, 17);
	jobs[4] = submit_of(mock, 0, 'E', 32, 3, 18);
	run_until(mock, 1000);
	expect_trace(mock, "A0@0 A1@10 C0@20 D0@30 E0@40 E1@50 C1@60 D1@70 E2@80");
	assert_int_equal(jobs[1]->fw.status, OVT_JOB_CANCELLED);
}

/* Each core has its own circle, and a context has a turn on each core. */
static void cores_have_circles_of_their_own(void **state)
{
	struct mock *mock = fair_new(state, 2, 1);
	struct mock_job *jobs[4];
	static const u32 contexts[] = { 0, 1, 0, 1 };
	static const u32 cores[] = { 1, 1, 2, 2 };
	static const u32 priorities[] = { 32, 0, 0, 32 };
	u32 index;

	for (index = 0; index < 4; index++) {
		jobs[index] = job_new(mock, (char)('A' + index), cores[index],
				      priorities[index], 3, 10);
		jobs[index]->fw.context = &mock->contexts[contexts[index]];
		submit(mock, jobs[index], 0);
	}
	run_until(mock, 1000);
	expect_trace(mock,
		     "A0@0 C0@0 A1@10 D0@10 B0@20 D1@20 A2@30 C1@30 B1@40 D2@40 B2@50 C2@50");
}

/* After m HIGH FCs one FC runs, of the context whose turn it is; this turn goes on later. */
static void a_normal_floor_takes_turns(void **state)
{
	struct mock *mock = fair_new(state, 1, 4);
	struct mock_job *first, *second;

	submit_of(mock, 2, 'H', 255, 6, 0);
	first = submit_of(mock, 0, 'A', 0, 3, 0);
	second = submit_of(mock, 1, 'B', 32, 3, 0);
	set_normal_floor(mock, 1, 2, 0);
	run_until(mock, 1000);
	expect_trace(mock, "H0@0 H1@10 A0@20 H2@30 H3@40 B0@50 H4@60 H5@70 "
			   "B1@80 A1@90 B2@100 A2@110");
	assert_int_equal(first->fw.preemptions, 1);
	assert_int_equal(second->fw.preemptions, 1);
}

/* A changed limit counts when the committed FCs have run. */
static void a_changed_limit_waits_for_the_batch(void **state)
{
	struct mock *mock = fair_new(state, 1, 3);

	submit_of(mock, 0, 'A', 0, 4, 0);
	submit_of(mock, 1, 'B', 0, 2, 0);
	submit_of(mock, 2, 'H', 255, 1, 5);
	set_limit(mock, 1, 0, 6);
	submit_of(mock, 2, 'I', 255, 1, 35);
	run_until(mock, 1000);
	/* A0 B0 A1 | limit 0: B1 is older than H, and so is A2, which came with A. */
	expect_trace(mock, "A0@0 B0@10 A1@20 B1@30 A2@40 A3@50 H0@60 I0@70");
}

static void a_killed_context_leaves_every_circle(void **state)
{
	struct mock *mock = fair_new(state, 2, 2);
	struct mock_job *jobs[12];
	u32 index;

	for (index = 0; index < 12; index++) {
		jobs[index] = job_new(mock, (char)('A' + index), 1 + index % 2,
				      index % 3 ? 64 : 255, 3, 10);
		jobs[index]->fw.context = &mock->contexts[index % 3 ? index % 2 : 0];
		submit(mock, jobs[index], 0);
	}
	kill_context(mock, &mock->contexts[0], 35);
	run_until(mock, 34);
	run_until(mock, 10000);
	assert_int_equal(mock->killed, 1);
	for (index = 0; index < 12; index++) {
		assert_true(jobs[index]->ended);
		if (jobs[index]->fw.context == &mock->contexts[0])
			assert_true(jobs[index]->fw.end_ns <= 35);
		else
			assert_int_equal(jobs[index]->fw.status, OVT_JOB_OK);
	}
}

/* With one context and limits up to a ring's length a fair device behaves as any other. */
static void one_context_sees_no_difference(void **state)
{
	static const u32 limits[] = { 0, 1, 2, 5, 64 };
	size_t row;

	for (row = 0; row < COUNT(limits); row++) {
		static struct started expected[MAX_TRACE];
		u32 expected_length = 0;
		u32 preempted = 0;
		int fair_too;

		for (fair_too = 0; fair_too < 2; fair_too++) {
			struct mock *mock = fair_too ? fair_new(state, 2, limits[row]) :
						       mock_new(state, 2, OVT_MODE_TIMED, 64);
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
					jobs[index]->fw.context = &mock->contexts[0];
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
		}
		assert_true(expected_length > 100);
	}
}

/*
 * The promise, counted in FCs: an FC waits for the FCs that were committed when it came and for one
 * turn of its neighbour, however many FCs of the neighbour wait.
 */
static void a_thousand_jobs_delay_a_neighbour_by_a_turn(void **state)
{
	static const u32 limits[] = { 0, 1, 8, 64 };
	static struct mock_job *pile[1000];
	size_t row;

	for (row = 0; row < COUNT(limits); row++) {
		u32 batch = limits[row] ? limits[row] : 1;
		struct mock *mock = fair_new(state, 1, limits[row]);
		struct mock_job *copy;
		u32 index, before;

		for (index = 0; index < 1000; index++) {
			assert_true(ovt_fw_reserve(&mock->fw, 2));
			pile[index] = job_new(mock, 'P', 1, 254, 1, 10);
			pile[index]->fw.context = &mock->contexts[0];
			ovt_fw_submit(&mock->fw, &pile[index]->fw, 0);
			drain(mock, 0);
			ovt_fw_unreserve(&mock->fw, 1);
		}
		run_until(mock, 2005);
		before = mock->trace_length;
		copy = submit_of(mock, 1, 'C', 0, 1, 2005);
		run_until(mock, 100000);
		for (index = before; mock->trace[index].job != 'C'; index++)
			;
		assert_true(index - before <= batch + 8);
		assert_true(copy->fw.start_ns <= 2005 + 10 * (batch + 8));
		assert_int_equal(mock->trace_length, 1001);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(priority_weighs_turns),
		CASE(a_turn_keeps_its_allowance),
		CASE(a_context_that_leaves_forfeits_its_turn_and_joins_at_the_end),
		CASE(batches_are_filled_by_turns),
		CASE(a_batch_is_at_most_a_ring),
		CASE(without_preemption_arrival_counts_beside_high),
		CASE(cancel_in_a_batch),
		CASE(cancel_of_the_last_that_waits),
		CASE(cores_have_circles_of_their_own),
		CASE(a_normal_floor_takes_turns),
		CASE(a_changed_limit_waits_for_the_batch),
		CASE(a_killed_context_leaves_every_circle),
		CASE(one_context_sees_no_difference),
		CASE(a_thousand_jobs_delay_a_neighbour_by_a_turn),
	};

	return cmocka_run_group_tests_name("fw_fair", tests, NULL, NULL);
}
