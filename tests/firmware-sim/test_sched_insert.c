// SPDX-License-Identifier: MIT
/*
 * Slots, and which task may use a slot that a task in a gap keeps, under each policy.
 */
#include <stdio.h>

#include "cmocka_all.h"
#include "sched_host.h"

#define LARGEST		"18446744073709551615"
#define LARGEST_BUT_1	"18446744073709551614"
#define HALF		"9223372036854775808"
#define HALF_BUT_1	"9223372036854775807"
#define HALF_AND_1	"9223372036854775809"

static void slots_are_held_from_the_first_bpu_segment_to_the_last(void **state)
{
	struct host *host = host_new(state, NULL);
	struct host_task *holder = host_arrive(host, 'a', "c5 b10 b10 c5 b10 c5", 9, 1, 0);
	struct host_task *other;

	host_goes(host, 0, "a0!");
	other = host_arrive(host, 'b', "b10", 0, 1, 1);
	host_goes(host, 1, "b0>1");		/* a leading CPU segment holds nothing */
	host_segment_ends(host, holder);
	host_goes(host, 5, "");
	host_segment_ends(host, other);
	host_goes(host, 11, "b. a1>1");
	host_arrive(host, 'c', "b10", 0, 1, 12);
	host_segment_ends(host, holder);
	host_goes(host, 21, "a2>1");		/* a keeps its slot between BPU segments */
	host_segment_ends(host, holder);
	host_goes(host, 31, "a3!");		/* and in a gap, if no rule of insertion holds */
	host_segment_ends(host, holder);
	host_goes(host, 36, "a4>1");
	host_segment_ends(host, holder);
	host_goes(host, 46, "c0>1 a5!");	/* a trailing CPU segment holds nothing */
}

static void a_queue_has_as_many_slots_on_each_core_as_configured(void **state)
{
	struct host *host = host_new(state, &(struct host_options){ .cores = 2, .slots = 2 });
	u32 index;

	for (index = 0; index < 4; index++)
		host_arrive(host, (char)('a' + index), "b10", 0, 1, 0);
	host_arrive(host, 'e', "b10", 0, 0, 0);
	host_goes(host, 0, "a0>1 b0>1 e0>2");	/* c and d wait; e is for any core */
}

/*
 * Task a has core 1's only slot and is in a gap when the scheduler looks at w, next in the queue.
 */
static void insertion_rules_are_strict_and_exact(void **state)
{
	static const struct {
		const char *description;
		const char *holder;	/* its first CPU segment after a BPU segment is the gap */
		const char *waiting;
		u64 spent;		/* in the gap */
		u64 threshold_percent;
		u64 insert_max_time;
		u64 wait_dispatch_time;
		bool inserted;
	} rows[] = {
		/* (bpu - remaining) / next * 100 < threshold */
		{ "nothing holds", "b1 c30 b100", "b30", 0, 0, 0, 0, false },
		{ "fits in, threshold 0: below 0", "b1 c31 b100", "b30", 0, 0, 0, 0, true },
		{ "late by nothing, 1 %", "b1 c30 b100", "b30", 0, 1, 0, 0, true },
		{ "late by just the threshold", "b1 c30 b100", "b40", 0, 10, 0, 0, false },
		{ "late by less", "b1 c30 b100", "b39", 0, 10, 0, 0, true },
		{ "no rounding down", "b1 c30 b1001", "b131", 0, 10, 0, 0, false },
		{ "no rounding up", "b1 c30 b1001", "b130", 0, 10, 0, 0, true },
		{ "remaining shrinks while it runs", "b1 c30 b100", "b39", 1, 10, 0, 0, false },
		{ "estimate overrun: 0 remains", "b1 c30 b100", "b9", 1000, 10, 0, 0, true },
		{ "estimate overrun, too late", "b1 c30 b100", "b10", 1000, 10, 0, 0, false },
		{ "all BPU time counts, no CPU time", "b1 c30 b100", "b20 c500 b19", 0, 10, 0, 0,
		  true },
		{ "all BPU time is too much", "b1 c30 b100", "b20 c500 b20", 0, 10, 0, 0, false },
		{ "leading CPU time does not count", "b1 c30 b100", "b39 c9", 0, 10, 0, 0, true },
		{ "the next BPU segment, not a later one", "b1 c30 b100 b900", "b40", 0, 10, 0, 0,
		  false },
		{ "the current CPU segment alone", "b1 c30 c70 b100", "b39", 0, 10, 0, 0, true },
		{ "not the CPU segment after it", "b1 c30 c70 b100", "b40", 0, 10, 0, 0, false },
		/* products beyond 64 bits */
		{ "late by next, 100 %", "b1 c0 b" HALF, "b" HALF, 0, 100, 0, 0, false },
		{ "late by 1 less", "b1 c0 b" HALF, "b" HALF_BUT_1, 0, 100, 0, 0, true },
		{ "late by 1 more", "b1 c0 b" HALF, "b" HALF_AND_1, 0, 100, 0, 0, false },
		{ "largest, 100 %", "b1 c0 b" LARGEST, "b" LARGEST, 0, 100, 0, 0, false },
		{ "largest, 101 %", "b1 c0 b" LARGEST, "b" LARGEST, 0, 101, 0, 0, true },
		{ "largest but 1, 100 %", "b1 c0 b" LARGEST, "b" LARGEST_BUT_1, 0, 100, 0, 0,
		  true },
		{ "largest remaining", "b1 c" LARGEST " b1", "b" LARGEST_BUT_1, 0, 0, 0, 0, true },
		{ "largest threshold", "b1 c0 b" LARGEST, "b" LARGEST, 0, ~0ull, 0, 0, true },
		{ "threshold 2^32, next 2^32 - 1, late by 2^64 / 100",
		  "b1 c0 b4294967295", "b184467440737095516", 0, 1ull << 32, 0, 0, false },
		{ "threshold 2^32, next 2^32, late by 2^64 / 100",
		  "b1 c0 b4294967296", "b184467440737095516", 0, 1ull << 32, 0, 0, true },
		{ "threshold 2^33, next 2^32 - 1, late by just less",
		  "b1 c0 b4294967295", "b368934881388291686", 0, 1ull << 33, 0, 0, true },
		{ "threshold 2^33, next 2^32 - 1, late by 1 more",
		  "b1 c0 b4294967295", "b368934881388291687", 0, 1ull << 33, 0, 0, false },
		/* bpu < insert_max_time */
		{ "just the insert time", "b1 c5 b1", "b1000", 0, 0, 1000, 0, false },
		{ "less than the insert time", "b1 c5 b1", "b999", 0, 0, 1000, 0, true },
		{ "insert time of all BPU segments", "b1 c5 b1", "b500 c1 b500", 0, 0, 1000, 0,
		  false },
		{ "largest insert time", "b1 c5 b1", "b" LARGEST_BUT_1, 0, 0, ~0ull, 0, true },
		/* whole gap > wait_dispatch_time */
		{ "just the wait time", "b1 c20 b1", "b99", 0, 0, 0, 20, false },
		{ "more than the wait time", "b1 c21 b1", "b99", 0, 0, 0, 20, true },
		{ "the whole segment, not what remains", "b1 c21 b1", "b99", 20, 0, 0, 20, true },
	};
	size_t row;

	for (row = 0; row < COUNT(rows); row++) {
		struct host *host = host_new(state, &(struct host_options){
			.threshold_percent = rows[row].threshold_percent,
			.insert_max_time = rows[row].insert_max_time,
			.wait_dispatch_time = rows[row].wait_dispatch_time });
		struct host_task *holder = host_arrive(host, 'a', rows[row].holder, 9, 1, 0);

		print_message("%s\n", rows[row].description);
		host_goes(host, 0, "a0>1");
		host_segment_ends(host, holder);
		host_goes(host, 1, "a1!");
		host_arrive(host, 'w', rows[row].waiting, 0, 1, 1);
		host_goes(host, 1 + rows[row].spent, rows[row].inserted ? "w0>1" : "");
	}
}

/* Another task has the only worker, so that a's CPU segment has not begun, whatever the time. */
static void all_of_the_gap_remains_while_no_worker_has_taken_it(void **state)
{
	struct host *host = host_new(state, &(struct host_options){ .workers = 1,
							     .threshold_percent = 10 });
	struct host_task *holder = host_arrive(host, 'a', "b1 c30 b100", 1, 1, 0);

	host_arrive(host, 'x', "c500", 9, 0, 0);
	host_goes(host, 0, "a0>1 x0!");
	host_segment_ends(host, holder);
	host_goes(host, 1, "");
	host_arrive(host, 'w', "b39", 0, 1, 400);
	host_goes(host, 400, "w0>1");
}

static void a_gap_opens_when_the_bpu_segment_ends_and_closes_with_the_cpu_segment(void **state)
{
	struct host *host = host_new(state, &(struct host_options){ .insert_max_time = 50 });
	struct host_task *holder = host_arrive(host, 'a', "b100 c30 b100 c30 b100", 1, 1, 0);
	struct host_task *inserted;

	inserted = host_arrive(host, 'v', "b40", 0, 1, 0);
	host_arrive(host, 'w', "b40", 0, 1, 0);
	host_goes(host, 0, "a0>1");
	host_segment_ends(host, holder);
	host_goes(host, 100, "v0>1 a1!");	/* v fills the slot: w stays out */
	host_segment_ends(host, holder);
	host_goes(host, 130, "a2>1");
	host_segment_ends(host, inserted);
	host_goes(host, 140, "v.");		/* a is back on the BPU */
	host_segment_ends(host, holder);
	host_goes(host, 240, "w0>1 a3!");
}

/* Leading and trailing CPU segments are no gaps, and priority 255 makes no difference. */
static void gaps_are_cpu_segments_between_bpu_segments(void **state)
{
	static const u32 priorities[] = { 0, 255 };
	size_t index;

	for (index = 0; index < COUNT(priorities); index++) {
		struct host *host = host_new(state, &(struct host_options){ .workers = 1 });
		struct host_task *task = host_task(host, 'a', "c5 b10 c5 c5 b10 c5",
						   priorities[index], 1);
		static const bool gaps[] = { false, false, true, true, false, false };
		u32 segment;

		host_arrive_task(host, task, 0);
		assert_false(ovt_sched_in_gap(&task->sched));
		for (segment = 0; segment < COUNT(gaps); segment++) {
			host_go(host, segment);
			assert_int_equal(task->sched.segment, segment);
			assert_int_equal(ovt_sched_in_gap(&task->sched), gaps[segment]);
			host_segment_ends(host, task);
		}
		assert_true(task->ended);
		assert_false(ovt_sched_in_gap(&task->sched));
	}
}

static void every_holder_in_the_way_counts(void **state)
{
	struct host *host = host_new(state, &(struct host_options){ .slots = 2, .cores = 2,
							     .insert_max_time = 50 });
	struct host_task *first = host_arrive(host, 'a', "b100 c30 b100", 1, 1, 0);
	struct host_task *second = host_arrive(host, 'b', "b100 c30 b100", 1, 1, 0);

	host_arrive(host, 'c', "b100", 1, 2, 0);
	host_arrive(host, 'd', "b100", 1, 2, 0);
	host_arrive(host, 'v', "b49", 0, 1, 0);
	host_arrive(host, 'w', "b49", 0, 1, 0);
	host_arrive(host, 'z', "b50", 0, 1, 0);
	host_goes(host, 0, "a0>1 b0>1 c0>2 d0>2");
	host_segment_ends(host, first);
	host_goes(host, 100, "v0>1 a1!");
	host_segment_ends(host, second);
	host_goes(host, 100, "w0>1 b1!");
	host_segment_ends(host, &host->tasks[4]);
	host_goes(host, 149, "v.");
	host_cancel(host, first);
	host_segment_ends(host, first);
	host_goes(host, 150, "a.");
	host_segment_ends(host, &host->tasks[5]);
	host_goes(host, 151, "w. z0>1");
}

/*
 * One of two holders is in a gap that w fits into, whichever of the gaps opened first.  No gap is
 * left for x.
 */
static void a_gap_counts_for_tasks_that_fit_into_it(void **state)
{
	static const char *const gaps[] = { "b100 c30 b100", "b100 c200 b100" };
	u32 first;

	for (first = 0; first < 2; first++) {
		struct host *host = host_new(state, &(struct host_options){ .slots = 2 });
		struct host_task *a = host_arrive(host, 'a', gaps[first], 0, 1, 0);
		struct host_task *b = host_arrive(host, 'b', gaps[1 - first], 0, 1, 0);

		host_goes(host, 0, "a0>1 b0>1");
		host_segment_ends(host, a);
		host_segment_ends(host, b);
		host_goes(host, 100, "a1! b1!");
		host_arrive(host, 'w', "b50", 0, 1, 101);
		host_arrive(host, 'x', "b50", 0, 1, 101);
		host_goes(host, 101, "w0>1");
	}
}

/*
 * One of two running gaps has come down to the floor of 50 when v and w arrive, the other has not.
 * v and w, which take 40, fit into them, whichever of the gaps opened first.
 */
static void each_gap_comes_down_to_its_floor_at_its_own_time(void **state)
{
	static const char *const gaps[] = { "b100 c300 b100", "b100 c100 b100" };
	u32 first;

	for (first = 0; first < 2; first++) {
		struct host *host = host_new(state, &(struct host_options){ .slots = 2,
								     .insert_max_time = 50 });
		struct host_task *a = host_arrive(host, 'a', gaps[first], 0, 1, 0);
		struct host_task *b = host_arrive(host, 'b', gaps[1 - first], 0, 1, 0);

		host_goes(host, 0, "a0>1 b0>1");
		host_segment_ends(host, a);
		host_segment_ends(host, b);
		host_goes(host, 100, "a1! b1!");
		host_arrive(host, 'v', "b40", 0, 1, 190);
		host_arrive(host, 'w', "b40", 0, 1, 190);
		host_goes(host, 190, "v0>1 w0>1");
	}
}

static void an_inserted_task_for_any_core_goes_into_the_gap(void **state)
{
	struct host *host = host_new(state, &(struct host_options){ .cores = 2,
							     .wait_dispatch_time = 29 });
	struct host_task *holder = host_arrive(host, 'a', "b100 c30 b100", 1, 2, 0);

	host_arrive(host, 'x', "b100", 1, 1, 0);
	host_arrive(host, 'w', "b90", 0, 0, 0);
	host_goes(host, 0, "a0>2 x0>1");
	host_segment_ends(host, holder);
	host_goes(host, 100, "w0>2 a1!");
}

static void priority_255_in_a_gap_keeps_nothing(void **state)
{
	struct host *host = host_new(state, NULL);
	struct host_task *high = host_arrive(host, 'h', "b100 c30 b100", 255, 1, 0);

	host_goes(host, 0, "h0>1");
	host_segment_ends(host, high);
	host_arrive(host, 'a', "b100", 0, 1, 100);
	host_goes(host, 100, "a0>1 h1!");
}

static void fifo_goes_by_arrival_and_inserts_no_task(void **state)
{
	struct host *host = host_new(state, &(struct host_options){ .policy = "fifo",
		.threshold_percent = 1000, .insert_max_time = 1000, .wait_dispatch_time = 1 });
	struct host_task *holder = host_arrive(host, 'a', "b100 c30 b100", 0, 1, 0);

	host_arrive(host, 'b', "b1", 10, 1, 0);
	host_arrive(host, 'c', "b1", 20, 1, 0);
	host_goes(host, 0, "a0>1");
	host_segment_ends(host, holder);
	host_goes(host, 100, "a1!");
	host_segment_ends(host, holder);
	host_segment_ends(host, holder);
	host_goes(host, 230, "a2>1 a. b0>1");
	host_segment_ends(host, &host->tasks[1]);
	host_goes(host, 231, "b. c0>1");
}

static void fifo_goes_by_arrival_whether_or_not_a_task_names_its_core(void **state)
{
	static const u32 cores[][2] = { { 1, 0 }, { 0, 1 } };
	size_t row;

	for (row = 0; row < COUNT(cores); row++) {
		struct host *host = host_new(state, &(struct host_options){ .policy = "fifo" });
		struct host_task *holder = host_arrive(host, 'a', "b100", 0, 1, 0);

		host_arrive(host, 'b', "b10", 0, cores[row][0], 0);
		host_arrive(host, 'c', "b1", 9, cores[row][1], 0);
		host_goes(host, 0, "a0>1");
		host_segment_ends(host, holder);
		host_goes(host, 100, "a. b0>1");
	}
}

/* Which of three waiting tasks goes first; the priority still comes before all else. */
static void policies_order_within_the_priority(void **state)
{
	static const struct {
		const char *description;
		const char *policy;
		const char *segments[3];
		u64 deadline[3];
		u32 priority[3];
		const char *order;
	} rows[] = {
		{ "shortest BPU time", "shortest", { "b30", "b20 c900", "b5 c1 b5" }, { 1, 2, 3 },
		  { 0, 0, 0 }, "cba" },
		{ "shortest, a tie", "shortest", { "b20", "b20", "b20" }, { 3, 2, 1 },
		  { 0, 0, 0 }, "abc" },
		{ "shortest, priority", "shortest", { "b30", "b5", "b20" }, { 1, 2, 3 },
		  { 1, 0, 1 }, "cab" },
		{ "deadline", "deadline", { "b1", "b9", "b5" }, { 300, 200, 100 },
		  { 0, 0, 0 }, "cba" },
		{ "deadline, a tie", "deadline", { "b9", "b5", "b1" }, { 7, 7, 7 },
		  { 0, 0, 0 }, "abc" },
		{ "deadline, priority", "deadline", { "b1", "b1", "b1" }, { 300, 200, 100 },
		  { 0, 2, 1 }, "bca" },
		{ "deadline, the largest", "deadline", { "b1", "b1", "b1" },
		  { ~0ull, 0, 1ull << 63 }, { 0, 0, 0 }, "bca" },
	};
	size_t row;
	u32 index;

	for (row = 0; row < COUNT(rows); row++) {
		struct host *host = host_new(state, &(struct host_options){ .policy = rows[row].policy });

		print_message("%s\n", rows[row].description);
		host_arrive(host, 'x', "b1", 9, 1, 0);
		host_goes(host, 0, "x0>1");
		for (index = 0; index < 3; index++) {
			struct host_task *task = host_task(host, (char)('a' + index),
							   rows[row].segments[index],
							   rows[row].priority[index], 1);

			task->sched.deadline = rows[row].deadline[index];
			host_arrive_task(host, task, 1);
		}
		host_cancel(host, &host->tasks[0]);
		host_segment_fails(host, &host->tasks[0]);
		for (index = 0; index < 3; index++) {
			struct host_task *next = &host->tasks[1 + rows[row].order[index] - 'a'];

			host->answers[0] = 0;
			host_go(host, 10);
			assert_int_equal(host->answers[0], next->name);
			host_cancel(host, next);
			host_segment_fails(host, next);
		}
	}
}

static void shortest_and_deadline_insert_by_the_rules(void **state)
{
	static const char *const policies[] = { "shortest", "deadline" };
	size_t index;

	for (index = 0; index < COUNT(policies); index++) {
		struct host *host = host_new(state, &(struct host_options){ .policy = policies[index],
								     .insert_max_time = 50 });
		struct host_task *holder = host_arrive(host, 'a', "b100 c30 b100", 1, 1, 0);

		host_arrive(host, 'b', "b10", 2, 1, 0);
		host_goes(host, 0, "b0>1");
		host_segment_ends(host, &host->tasks[1]);
		host_goes(host, 10, "b. a0>1");
		host_segment_ends(host, holder);
		host_goes(host, 110, "a1!");
		host_arrive(host, 'c', "b50", 0, 1, 110);
		host_goes(host, 110, "");
		host_arrive(host, 'd', "b49", 1, 1, 110);
		host_goes(host, 110, "d0>1");
	}
}

static void policies_are_found_by_name_and_the_first_is_the_contract(void **state)
{
	static const char *const names[] = { "priority", "fifo", "shortest", "deadline" };
	u32 index;

	(void)state;
	for (index = 0; index < COUNT(names); index++) {
		assert_string_equal(ovt_sched_policy_at(index)->name, names[index]);
		assert_ptr_equal(ovt_sched_policy_find(names[index]), ovt_sched_policy_at(index));
	}
	assert_null(ovt_sched_policy_at(COUNT(names)));
	assert_null(ovt_sched_policy_at(~0u));
	assert_null(ovt_sched_policy_find("Priority"));
	assert_null(ovt_sched_policy_find(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(slots_are_held_from_the_first_bpu_segment_to_the_last),
		CASE(a_queue_has_as_many_slots_on_each_core_as_configured),
		CASE(insertion_rules_are_strict_and_exact),
		CASE(all_of_the_gap_remains_while_no_worker_has_taken_it),
		CASE(
			a_gap_opens_when_the_bpu_segment_ends_and_closes_with_the_cpu_segment),
		CASE(gaps_are_cpu_segments_between_bpu_segments),
		CASE(every_holder_in_the_way_counts),
		CASE(a_gap_counts_for_tasks_that_fit_into_it),
		CASE(each_gap_comes_down_to_its_floor_at_its_own_time),
		CASE(an_inserted_task_for_any_core_goes_into_the_gap),
		CASE(priority_255_in_a_gap_keeps_nothing),
		CASE(fifo_goes_by_arrival_and_inserts_no_task),
		CASE(fifo_goes_by_arrival_whether_or_not_a_task_names_its_core),
		CASE(policies_order_within_the_priority),
		CASE(shortest_and_deadline_insert_by_the_rules),
		CASE(policies_are_found_by_name_and_the_first_is_the_contract),
	};

	return cmocka_run_group_tests_name("sched: insert", tests, NULL, NULL);
}
