// SPDX-License-Identifier: MIT
/* Which task goes next, and to which core or worker. */
#include <stdio.h>

#include "cmocka_all.h"
#include "sched_host.h"

/* Three tasks wait for the slot that "x" holds; in which order do they get it? */
static void waiting_tasks_go_by_priority_then_custom_id_then_arrival(void **state)
{
	static const struct {
		const char *description;
		const char *order;
		u32 priority[3];
		s64 custom_id[3];
	} rows[] = {
		{ "equal: arrival", "abc", { 7, 7, 7 }, { 0, 0, 0 } },
		{ "highest priority first", "bca", { 0, 254, 10 }, { 0, 0, 0 } },
		{ "smallest custom_id first", "cab", { 7, 7, 7 }, { 0, 5, -5 } },
		{ "priority before custom_id", "bca", { 1, 2, 2 }, { -9, 0, 1 } },
		{ "custom_id to its ends", "bca", { 7, 7, 7 }, { INT64_MAX, INT64_MIN, 0 } },
		{ "one ahead, two equal", "bac", { 7, 8, 7 }, { 0, 0, 0 } },
	};
	size_t row;
	u32 index;

	for (row = 0; row < COUNT(rows); row++) {
		struct host *host = host_new(state, NULL);
		struct host_task *running = host_arrive(host, 'x', "b100", 0, 1, 0);
		struct host_task *tasks[3];
		char answers[32];

		print_message("%s\n", rows[row].description);
		host_goes(host, 0, "x0>1");
		for (index = 0; index < 3; index++) {
			tasks[index] = host_task(host, (char)('a' + index), "b100",
						 rows[row].priority[index], 1);
			tasks[index]->sched.custom_id = rows[row].custom_id[index];
			host_arrive_task(host, tasks[index], 1);
		}
		host_goes(host, 1, "");
		for (index = 0; index < 3; index++) {
			snprintf(answers, sizeof(answers), "%c. %c0>1", running->name,
				 rows[row].order[index]);
			host_segment_ends(host, running);
			host_goes(host, 100 * index, answers);
			running = tasks[rows[row].order[index] - 'a'];
		}
	}
}

static void priority_255_goes_whatever_is_taken(void **state)
{
	struct host *host = host_new(state, &(struct host_options){ .task_limit = 1 });

	host_arrive(host, 'a', "b100", 254, 1, 0);
	host_arrive(host, 'b', "b100", 254, 1, 0);
	host_arrive(host, 'h', "b100", 255, 1, 0);
	host_arrive(host, 'i', "c10 b100", 255, 1, 0);
	host_goes(host, 0, "h0>1 a0>1 i0!");
}

static void priority_255_takes_no_slot_and_counts_for_no_limit(void **state)
{
	struct host *host = host_new(state, &(struct host_options){ .task_limit = 1 });

	host_arrive(host, 'h', "b100", 255, 1, 0);
	host_goes(host, 0, "h0>1");
	host_arrive(host, 'a', "b100", 0, 1, 0);
	host_goes(host, 0, "a0>1");
	host_segment_ends(host, &host->tasks[0]);
	host_arrive(host, 'b', "c5", 0, 1, 1);
	host_goes(host, 1, "h.");
	host_segment_ends(host, &host->tasks[1]);
	host_goes(host, 2, "a. b0!");
}

static void task_limit_counts_dispatched_tasks_of_the_queue(void **state)
{
	struct host *host = host_new(state, &(struct host_options){ .task_limit = 2, .slots = 9 });
	struct host_task *first = host_arrive(host, 'a', "b10", 0, 1, 0);

	host_arrive(host, 'b', "c10", 0, 1, 0);
	host_arrive(host, 'c', "b10", 0, 1, 0);
	host_arrive(host, 'd', "c10", 0, 1, 0);
	host_goes(host, 0, "a0>1 b0!");
	host_segment_ends(host, first);
	host_goes(host, 10, "a. c0>1");
	host_segment_ends(host, &host->tasks[1]);
	host_goes(host, 11, "b. d0!");
}

/* r was dispatched.  b has a better place, but waits for the limit: it does not bar r's core. */
static void a_task_that_waits_for_the_limit_blocks_no_other(void **state)
{
	struct host *host = host_new(state, &(struct host_options){ .task_limit = 1 });
	struct host_task *ready = host_arrive(host, 'r', "c10 b10", 0, 1, 0);

	host_goes(host, 0, "r0!");
	host_arrive(host, 'b', "b10", 200, 1, 1);
	host_arrive(host, 'e', "b10", 100, 0, 1);
	host_goes(host, 1, "");
	host_segment_ends(host, ready);
	host_goes(host, 10, "r1>1");
	host_segment_ends(host, ready);
	host_goes(host, 20, "r. b0>1");
}

/* l and m hold the two places of the limit; only one of them finds a slot. */
static void ready_tasks_pass_those_that_wait_for_the_limit_in_their_own_order(void **state)
{
	struct host *host = host_new(state, &(struct host_options){ .task_limit = 2 });
	struct host_task *low = host_arrive(host, 'l', "c10 b10", 1, 1, 0);
	struct host_task *middle = host_arrive(host, 'm', "c10 b10", 2, 1, 0);

	host_goes(host, 0, "m0! l0!");
	host_arrive(host, 'a', "c10", 200, 1, 1);
	host_segment_ends(host, middle);
	host_segment_ends(host, low);
	host_goes(host, 10, "m1>1");
	host_segment_ends(host, middle);
	host_goes(host, 20, "m. l1>1 a0!");
}

static void leading_cpu_segment_needs_no_slot(void **state)
{
	struct host *host = host_new(state, NULL);
	struct host_task *second;

	host_arrive(host, 'a', "b100", 0, 1, 0);
	second = host_arrive(host, 'b', "c10 c20 b30", 0, 1, 0);
	host_goes(host, 0, "a0>1 b0!");
	host_segment_ends(host, second);
	host_goes(host, 10, "b1!");
	host_segment_ends(host, second);
	assert_int_equal(second->sched.state, OVT_SCHED_READY);
	host_goes(host, 30, "");
	host_segment_ends(host, &host->tasks[0]);
	host_goes(host, 100, "a. b2>1");
}

static void ready_task_waits_like_an_undispatched_one(void **state)
{
	struct host *host = host_new(state, NULL);
	struct host_task *ready;

	host_arrive(host, 'x', "b100", 0, 1, 0);
	ready = host_arrive(host, 'r', "c10 b30", 5, 1, 0);
	host_goes(host, 0, "x0>1 r0!");
	host_arrive(host, 'a', "b10", 4, 1, 5);
	host_arrive(host, 'b', "b10", 6, 1, 5);
	host_arrive(host, 'c', "b10", 5, 1, 5);
	host_segment_ends(host, ready);
	host_segment_ends(host, &host->tasks[0]);
	host_goes(host, 100, "x. b0>1");
	host_segment_ends(host, &host->tasks[3]);
	host_goes(host, 110, "b. r1>1");
	host_segment_ends(host, ready);
	host_goes(host, 140, "r. c0>1");
}

static void a_task_without_bpu_segments_never_needs_a_slot(void **state)
{
	struct host *host = host_new(state, NULL);
	struct host_task *cpu;

	host_arrive(host, 'a', "b100", 9, 0, 0);
	host_arrive(host, 'b', "b100", 9, 0, 0);
	cpu = host_arrive(host, 'c', "c10 c20", 0, 0, 0);
	host_goes(host, 0, "a0>1 c0!");
	host_segment_ends(host, cpu);
	host_goes(host, 10, "c1!");
	host_segment_ends(host, cpu);
	host_expect(host, "c.");
	assert_int_equal(cpu->sched.placed_core, 0);
}

static void a_task_waiting_for_a_core_bars_that_core_only(void **state)
{
	struct host *host = host_new(state, &(struct host_options){ .cores = 3 });

	host_arrive(host, 'a', "b100", 9, 1, 0);
	host_arrive(host, 'b', "b100", 8, 1, 0);
	host_arrive(host, 'c', "b100", 7, 1, 0);
	host_arrive(host, 'd', "b100", 6, 2, 0);
	host_arrive(host, 'e', "b100", 5, 0, 0);
	host_goes(host, 0, "a0>1 d0>2 e0>3");
}

/* m is too long for the gap and s is not, but m is before s on core 1. */
static void a_task_waiting_for_a_core_bars_its_gap_to_those_of_any_core(void **state)
{
	struct host_options options = {
		.insert_max_time = 100,
	};
	struct host *host = host_new(state, &options);
	struct host_task *gap = host_arrive(host, 'g', "b100 c50 b100", 9, 1, 0);

	host_goes(host, 0, "g0>1");
	host_arrive(host, 'm', "b100", 8, 1, 1);
	host_arrive(host, 's', "b99", 7, 0, 1);
	host_segment_ends(host, gap);
	host_goes(host, 100, "g1!");
	host_cancel(host, &host->tasks[1]);
	host_goes(host, 101, "m. s0>1");
}

/* m may go to neither core: all tasks after m wait, except c, which needs no slot. */
static void a_task_waiting_for_any_core_bars_every_core(void **state)
{
	struct host_options options = {
		.cores = 2, .insert_max_time = 100,
	};
	struct host *host = host_new(state, &options);
	struct host_task *gap = host_arrive(host, 'g', "b100 c50 b100", 9, 1, 0);

	host_arrive(host, 'x', "b100", 9, 2, 0);
	host_goes(host, 0, "g0>1 x0>2");
	host_arrive(host, 'm', "b100", 8, 0, 1);
	host_arrive(host, 's', "b99", 7, 1, 1);
	host_arrive(host, 'c', "c10", 6, 0, 1);
	host_segment_ends(host, gap);
	host_goes(host, 100, "g1! c0!");
	host_cancel(host, &host->tasks[2]);
	host_goes(host, 101, "m. s0>1");
}

/* s would fit into the gap of the least loaded core, but m waits there. */
static void a_core_is_barred_to_tasks_for_any_core(void **state)
{
	static const struct {
		u32 barred;
		const char *begin;
		const char *answer;
	} rows[] = { { 1, "g0>1", "s0>2 g1!" }, { 2, "g0>2", "s0>1 g1!" }, { 64, "g0>64", "s0>1 g1!" } };
	size_t row;
	u32 core;

	for (row = 0; row < COUNT(rows); row++) {
		struct host *host = host_new(state, &(struct host_options){ .cores = 64,
								     .insert_max_time = 100 });
		struct host_task *gap = host_arrive(host, 'g', "b100 c50 b100", 9,
						    rows[row].barred, 0);

		host_goes(host, 0, rows[row].begin);
		for (core = 1; core <= 64; core++)
			host->unfinished[core - 1] += core == rows[row].barred ? 0 : 10;
		host_arrive(host, 'm', "b100", 8, rows[row].barred, 1);
		host_arrive(host, 's', "b99", 7, 0, 1);
		host_segment_ends(host, gap);
		host_goes(host, 100, rows[row].answer);
	}
}

static void any_core_means_each_that_is_open_and_the_device_chooses(void **state)
{
	static const struct {
		const char *description;
		u64 load[4];
		u32 slot_taken;		/* core, 0: none */
		u32 barred;		/* core, 0: none */
		u64 open;		/* bit core - 1 */
		const char *answer;
	} rows[] = {
		{ "all are open", { 2, 2, 2, 2 }, 0, 0, 0xf, "t0>1" },
		{ "the host's choice", { 4, 3, 2, 3 }, 0, 0, 0xf, "t0>3" },
		{ "the last one", { 4, 3, 2, 1 }, 0, 0, 0xf, "t0>4" },
		{ "not where the slot is taken", { 0, 3, 2, 3 }, 1, 0, 0xe, "t0>3" },
		{ "not where a better placed task waits", { 2, 1, 0, 1 }, 3, 3, 0xb, "t0>2" },
	};
	size_t row;

	for (row = 0; row < COUNT(rows); row++) {
		struct host *host = host_new(state, &(struct host_options){ .cores = 4 });
		u32 taken = rows[row].slot_taken;

		print_message("%s\n", rows[row].description);
		if (taken)
			host_arrive(host, 'x', "b1", 200, taken, 0);
		if (rows[row].barred)
			host_arrive(host, 'y', "b1", 100, rows[row].barred, 0);
		host_go(host, 0);
		host->answers[0] = 0;
		memcpy(host->unfinished, rows[row].load, sizeof(rows[row].load));
		host_arrive(host, 't', "b1", 0, 0, 1);
		host_goes(host, 1, rows[row].answer);
		assert_int_equal(host->open_cores, rows[row].open);
	}
}

static void priority_255_for_any_core_looks_at_the_load_alone(void **state)
{
	struct host *host = host_new(state, &(struct host_options){ .cores = 64 });
	u32 core;

	for (core = 1; core <= 64; core++)
		host->unfinished[core - 1] = core == 64 ? 3 : 4;
	host_arrive(host, 'x', "b1", 0, 64, 0);
	host_goes(host, 0, "x0>64");
	host->unfinished[62] = 0;
	host_arrive(host, 'g', "b1", 255, 0, 0);
	host_arrive(host, 'h', "b1x5", 255, 64, 0);
	host_goes(host, 0, "g0>63 h0>64");
	assert_true(host->open_cores == 1ull << 63);
	host_arrive(host, 'a', "b1", 0, 64, 0);
	host_arrive(host, 'b', "b1", 0, 63, 0);
	host_goes(host, 0, "b0>63");
	host->unfinished[0] = 0;
	host_arrive(host, 'i', "b1", 255, 0, 0);
	host_goes(host, 0, "i0>1");
	assert_true(host->open_cores == ~0ull);
	for (core = 1; core <= 64; core++)
		host->unfinished[core - 1] = 2;
	host_arrive(host, 'j', "b1", 255, 0, 0);
	host_goes(host, 0, "j0>1");
}

static void core_is_settled_when_the_first_bpu_segment_is_submitted_and_kept(void **state)
{
	struct host *host = host_new(state, &(struct host_options){ .cores = 2 });
	struct host_task *normal = host_arrive(host, 'n', "c10 b10 b10 c10 b10", 0, 0, 0);
	struct host_task *high = host_arrive(host, 'h', "c10 b10 c10 b10", 255, 0, 0);

	host_goes(host, 0, "h0! n0!");
	assert_int_equal(normal->sched.placed_core, 0);
	host->unfinished[0] = 5;
	host_segment_ends(host, high);
	host_goes(host, 5, "h1>2");
	host->unfinished[0] = 0;
	host_segment_ends(host, normal);
	host_goes(host, 10, "n1>1");
	host->unfinished[0] += 9;
	host_segment_ends(host, high);
	host_segment_ends(host, normal);
	host_goes(host, 20, "n2>1 h2!");
	host->unfinished[1] += 90;
	host_segment_ends(host, high);
	host_segment_ends(host, normal);
	host_goes(host, 30, "h3>2 n3!");
	host_segment_ends(host, normal);
	host_expect(host, "n4>1");
}

static void workers_are_bounded_and_taken_in_order(void **state)
{
	struct host *host = host_new(state, &(struct host_options){ .workers = 2 });
	struct host_task *first;

	first = host_arrive(host, 'a', "c10", 1, 0, 0);
	host_arrive(host, 'b', "c10", 1, 0, 0);
	host_goes(host, 0, "a0! b0!");
	host_arrive(host, 'c', "c10", 1, 0, 1);
	host_arrive(host, 'd', "c10", 2, 0, 1);
	host_arrive(host, 'e', "c10", 1, 0, 1);
	host_goes(host, 1, "");
	host_segment_ends(host, first);
	host_goes(host, 10, "a. d0!");
	host_arrive(host, 'f', "c10", 3, 0, 10);
	host_goes(host, 10, "");
	host_segment_ends(host, &host->tasks[1]);
	host_goes(host, 10, "b. f0!");
	host_segment_ends(host, &host->tasks[3]);
	host_goes(host, 20, "d. c0!");
	host_segment_ends(host, &host->tasks[5]);
	host_goes(host, 20, "f. e0!");
}

/* e arrived before l, but was dispatched after l, since x had core 1. */
static void workers_break_ties_by_dispatch_not_arrival(void **state)
{
	struct host *host = host_new(state, &(struct host_options){ .workers = 1, .cores = 2,
							     .task_limit = 3 });
	struct host_task *worker = host_arrive(host, 'w', "c10", 9, 0, 0);
	struct host_task *blocker = host_arrive(host, 'x', "b10", 9, 1, 0);
	struct host_task *early, *late;

	early = host_arrive(host, 'e', "b10 c10", 5, 1, 0);
	late = host_arrive(host, 'l', "b10 c10", 5, 2, 0);
	host_goes(host, 0, "x0>1 l0>2 w0!");
	host_segment_ends(host, blocker);
	host_goes(host, 10, "x. e0>1");
	host_segment_ends(host, early);
	host_segment_ends(host, late);
	host_goes(host, 20, "");
	host_segment_ends(host, worker);
	host_goes(host, 20, "w. l1!");
}

static void each_process_has_its_own_queue_slots_and_workers(void **state)
{
	struct host *host = host_new(state, &(struct host_options){ .workers = 1, .task_limit = 2 });
	struct host_task *tasks[4];
	u32 index;

	ovt_sched_add_queue(&host->sched, &host->queues[1], host->cores[1]);
	host_add_process(host, 1, 1);
	for (index = 0; index < 4; index++) {
		tasks[index] = host_task(host, (char)('a' + index), index < 2 ? "b10" : "c10",
					 index, 1);
		tasks[index]->sched.process = &host->processes[1 - index % 2];
		host_arrive_task(host, tasks[index], 0);
	}
	/* Queues choose in the order of their creation, whatever the priorities; then workers. */
	host_goes(host, 0, "b0>1 a0>1 d0! c0!");
}

static void service_mode_shares_the_queue_and_keeps_the_workers_apart(void **state)
{
	struct host *host = host_new(state, &(struct host_options){ .workers = 1, .task_limit = 3 });
	static const char *const segments[] = { "b10", "b10", "c10", "c10", "c10" };
	struct host_task *tasks[5];
	u32 index;

	host_add_process(host, 1, 0);
	for (index = 0; index < 5; index++) {
		tasks[index] = host_task(host, (char)('a' + index), segments[index], index, 1);
		tasks[index]->sched.process = &host->processes[index % 2];
		host_arrive_task(host, tasks[index], 0);
	}
	/* e, d, c are the best placed three of the shared queue; e and c share a worker. */
	host_goes(host, 0, "e0! d0!");
	host_segment_ends(host, tasks[3]);
	host_goes(host, 10, "d. b0>1");
	host_segment_ends(host, tasks[4]);
	host_goes(host, 10, "e. c0!");
	host_segment_ends(host, tasks[2]);
	host_goes(host, 20, "c.");
	host_segment_ends(host, tasks[1]);
	host_goes(host, 20, "b. a0>1");
}

static void a_queue_chooses_after_the_submissions_of_the_one_before(void **state)
{
	struct host *host = host_new(state, &(struct host_options){ .cores = 2 });
	struct host_task *other;

	ovt_sched_add_queue(&host->sched, &host->queues[1], host->cores[1]);
	host_add_process(host, 1, 1);
	other = host_task(host, 'o', "b10", 255, 0);
	other->sched.process = &host->processes[1];
	host_arrive_task(host, other, 0);
	host_arrive(host, 'a', "b10x3", 0, 0, 0);
	host_goes(host, 0, "a0>1 o0>2");
}

static void arrival_and_dispatch_are_recorded(void **state)
{
	struct host *host = host_new(state, NULL);
	struct host_task *first = host_arrive(host, 'a', "b10 c5 b20x4", 0, 1, 3);
	struct host_task *second = host_arrive(host, 'b', "c7", 0, 1, 3);

	assert_int_equal(second->sched.dispatch_sequence, 0);
	assert_int_equal(second->sched.dispatch_time, 0);
	assert_int_equal(second->sched.segment_start, 0);
	host_goes(host, 8, "a0>1 b0!");
	assert_int_equal(first->sched.arrival_time, 3);
	assert_int_equal(first->sched.dispatch_time, 8);
	assert_int_equal(first->sched.bpu_time, 30);
	assert_int_equal(first->sched.bpu_left, 2);
	assert_int_equal(first->sched.dispatch_sequence, 1);
	assert_int_equal(second->sched.dispatch_sequence, 2);
	assert_int_equal(second->sched.segment_start, 8);
}

/* Returns the cores that can take @task.  Deadlines hold them, which this policy ignores. */
static u64 cores_of(const struct ovt_sched_task *task)
{
	return task->deadline;
}

/* Does as host_arrive(), for a task that only @cores can take. */
static void arrive_for(struct host *host, char name, const char *segments, u32 priority, u64 cores,
		       u64 now)
{
	struct host_task *task = host_task(host, name, segments, priority, 0);

	host->sched.cores_of = cores_of;
	task->sched.deadline = cores;
	host_arrive_task(host, task, now);
}

static void a_task_for_some_cores_goes_to_one_of_them(void **state)
{
	struct host *host = host_new(state, &(struct host_options){ .cores = 4 });

	arrive_for(host, 'a', "b10", 0, 0x6, 0);
	host_goes(host, 0, "a0>2");
	assert_int_equal(host->open_cores, 0x6);
	arrive_for(host, 'b', "b10", 0, 0x6, 1);
	host_goes(host, 1, "b0>3");
	assert_int_equal(host->open_cores, 0x4);
	arrive_for(host, 'c', "b10", 0, 0x6, 2);
	host_goes(host, 2, ""); /* cores 1 and 4 are free, but cannot take c */
	arrive_for(host, 'h', "b10", 255, 0x6, 3);
	host_goes(host, 3, "h0>2");
	assert_int_equal(host->open_cores, 0x6);
	host_segment_ends(host, &host->tasks[1]);
	host_goes(host, 10, "b. c0>3");
}

static void what_waits_for_some_cores_bars_them_alone(void **state)
{
	struct host *host = host_new(state, &(struct host_options){ .cores = 2 });

	arrive_for(host, 'a', "b10", 9, 0x1, 0);
	host_goes(host, 0, "a0>1");
	arrive_for(host, 'b', "b10", 9, 0x1, 1);
	host_arrive(host, 'c', "b10", 5, 2, 1);
	host_arrive(host, 'd', "b10", 5, 1, 1);
	host_goes(host, 1, "c0>2");
	host_segment_ends(host, &host->tasks[0]);
	host_goes(host, 10, "a. b0>1");
}

static void a_long_queue_is_passed_by_those_that_may(void **state)
{
	struct host *host = host_new(state, &(struct host_options){ .cores = 2, .task_limit = 3 });
	u32 index;

	for (index = 0; index < 20; index++)
		host_arrive(host, (char)('a' + index), "b10", 50, index < 10 ? 1 : 0, 0);
	host_goes(host, 0, "a0>1 k0>2");
	host_arrive(host, 'y', "c10", 0, 1, 1);
	host_goes(host, 1, "y0!");
	host_arrive(host, 'z', "c10", 0, 1, 2);
	host_goes(host, 2, "");
	host_segment_ends(host, &host->tasks[10]);
	host_goes(host, 10, "k. l0>2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(waiting_tasks_go_by_priority_then_custom_id_then_arrival),
		CASE(priority_255_goes_whatever_is_taken),
		CASE(priority_255_takes_no_slot_and_counts_for_no_limit),
		CASE(task_limit_counts_dispatched_tasks_of_the_queue),
		CASE(a_task_that_waits_for_the_limit_blocks_no_other),
		CASE(ready_tasks_pass_those_that_wait_for_the_limit_in_their_own_order),
		CASE(leading_cpu_segment_needs_no_slot),
		CASE(ready_task_waits_like_an_undispatched_one),
		CASE(a_task_without_bpu_segments_never_needs_a_slot),
		CASE(a_task_waiting_for_a_core_bars_that_core_only),
		CASE(a_task_waiting_for_a_core_bars_its_gap_to_those_of_any_core),
		CASE(a_task_waiting_for_any_core_bars_every_core),
		CASE(a_core_is_barred_to_tasks_for_any_core),
		CASE(any_core_means_each_that_is_open_and_the_device_chooses),
		CASE(priority_255_for_any_core_looks_at_the_load_alone),
		CASE(core_is_settled_when_the_first_bpu_segment_is_submitted_and_kept),
		CASE(workers_are_bounded_and_taken_in_order),
		CASE(workers_break_ties_by_dispatch_not_arrival),
		CASE(each_process_has_its_own_queue_slots_and_workers),
		CASE(service_mode_shares_the_queue_and_keeps_the_workers_apart),
		CASE(a_queue_chooses_after_the_submissions_of_the_one_before),
		CASE(arrival_and_dispatch_are_recorded),
		CASE(a_task_for_some_cores_goes_to_one_of_them),
		CASE(what_waits_for_some_cores_bars_them_alone),
		CASE(a_long_queue_is_passed_by_those_that_may),
	};

	return cmocka_run_group_tests_name("sched: dispatch", tests, NULL, NULL);
}
