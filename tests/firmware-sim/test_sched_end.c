// SPDX-License-Identifier: MIT
/*
 * How tasks end: cancels in each state, failed segments, and the departure of processes and queues.
 */
#include <stdio.h>

#include "cmocka_all.h"
#include "sched_host.h"

static void a_waiting_task_ends_at_its_cancel(void **state)
{
	static const struct {
		const char *description;
		const char *segments;
		u32 priority;
	} rows[] = {
		{ "begins with a BPU segment", "b10", 5 },
		{ "begins with a CPU segment", "c10 b10", 5 },
		{ "priority 255", "b10", 255 },
	};
	size_t row;

	for (row = 0; row < COUNT(rows); row++) {
		struct host *host = host_new(state, &(struct host_options){ .task_limit = 1 });
		struct host_task *task;

		print_message("%s\n", rows[row].description);
		host_arrive(host, 'x', "b10", 0, 1, 0);
		host_goes(host, 0, "x0>1");
		task = host_arrive(host, 'a', rows[row].segments, rows[row].priority, 1, 1);
		host_arrive(host, 'b', "b10", 1, 1, 1);
		host_cancel(host, task);
		host_expect(host, "a.");
		assert_int_equal(task->sched.state, OVT_SCHED_ENDED);
		assert_true(task->sched.cancelled);
		assert_int_equal(task->sched.dispatch_sequence, 0);
		host_goes(host, 1, "");
		host_segment_ends(host, &host->tasks[0]);
		host_goes(host, 10, "x. b0>1");
	}
}

static void a_ready_task_ends_at_its_cancel_and_counts_no_more(void **state)
{
	struct host *host = host_new(state, &(struct host_options){ .task_limit = 2 });
	struct host_task *ready = host_arrive(host, 'r', "c5 b10", 5, 1, 0);

	host_arrive(host, 'x', "b50", 0, 1, 0);
	host_goes(host, 0, "x0>1 r0!");
	host_arrive(host, 'b', "c10", 0, 1, 1);
	host_segment_ends(host, ready);
	host_goes(host, 5, "");
	assert_int_equal(ready->sched.state, OVT_SCHED_READY);
	host_cancel(host, ready);
	host_goes(host, 6, "r. b0!");
	host_segment_ends(host, &host->tasks[1]);
	host_goes(host, 50, "x.");
}

static void a_task_that_waits_for_a_worker_ends_at_its_cancel(void **state)
{
	struct host *host = host_new(state, &(struct host_options){ .workers = 1 });
	struct host_task *leading, *in_gap, *trailing;

	host_arrive(host, 'x', "c90", 9, 1, 0);
	in_gap = host_arrive(host, 'g', "b10 c10 b10", 0, 1, 0);
	host_goes(host, 0, "g0>1 x0!");
	leading = host_arrive(host, 'l', "c10 b10", 0, 1, 1);
	host_segment_ends(host, in_gap);
	trailing = host_arrive(host, 't', "b10 c10", 0, 1, 10);
	host_goes(host, 10, "");
	assert_int_equal(in_gap->sched.state, OVT_SCHED_CPU_WAITING);
	assert_true(in_gap->sched.holds_slot);
	host_cancel(host, in_gap);
	host_goes(host, 11, "g. t0>1");		/* its slot is free at once */
	host_segment_ends(host, trailing);
	host_cancel(host, leading);
	host_cancel(host, trailing);
	host_goes(host, 20, "l. t.");
	host_segment_ends(host, &host->tasks[0]);
	host_goes(host, 90, "x.");
	host_arrive(host, 'z', "c1", 0, 1, 91);
	host_goes(host, 91, "z0!");
}

static void a_running_cpu_segment_ends_before_its_cancelled_task(void **state)
{
	struct host *host = host_new(state, &(struct host_options){ .workers = 1 });
	struct host_task *task = host_arrive(host, 'a', "b10 c10 b10", 5, 1, 0);

	host_arrive(host, 'b', "b10", 0, 1, 0);
	host_goes(host, 0, "a0>1");
	host_segment_ends(host, task);
	host_arrive(host, 'c', "c10", 0, 1, 10);
	host_goes(host, 10, "a1!");
	host_cancel(host, task);
	host_goes(host, 11, "");		/* worker and slot stay taken */
	assert_true(task->sched.holds_slot);
	host_segment_ends(host, task);
	host_goes(host, 20, "a. b0>1 c0!");
}

static void a_running_job_is_cancelled_and_its_task_ends_with_it(void **state)
{
	static const struct {
		const char *description;
		const char *segments;
		bool completed;		/* the FC that ran was the job's last */
	} rows[] = {
		{ "FCs left, more segments", "b10x3 c5 b10", false },
		{ "FCs left, last segment", "b10x3", false },
		{ "no FCs left, a CPU segment follows", "b10 c5", true },
		{ "no FCs left, a BPU segment follows", "b10 b10", true },
		{ "no FCs left, last segment", "b10", true },
	};
	size_t row;

	for (row = 0; row < COUNT(rows); row++) {
		struct host *host = host_new(state, NULL);
		struct host_task *task = host_arrive(host, 'a', rows[row].segments, 5, 1, 0);

		print_message("%s\n", rows[row].description);
		host_arrive(host, 'b', "b10", 0, 1, 0);
		host_goes(host, 0, "a0>1");
		host_cancel(host, task);
		host_goes(host, 1, "a?");
		assert_true(task->sched.holds_slot);
		if (rows[row].completed)
			host_segment_ends(host, task);
		else
			host_segment_fails(host, task);
		host_goes(host, 10, "a. b0>1");
		assert_true(task->sched.cancelled);
	}
}

static void cancelling_twice_or_too_late_or_too_early_does_nothing(void **state)
{
	struct host *host = host_new(state, NULL);
	struct host_task *running = host_arrive(host, 'a', "b10", 0, 1, 0);
	struct host_task *worker = host_arrive(host, 'w', "c10", 0, 1, 0);
	struct host_task *waiting = host_arrive(host, 'b', "b10", 0, 1, 0);
	struct host_task *done = host_arrive(host, 'd', "c10", 255, 1, 0);
	struct host_task *never = host_task(host, 'n', "b10", 0, 1);

	host_goes(host, 0, "a0>1 d0! w0!");
	host_segment_ends(host, done);
	host_cancel(host, running);
	host_cancel(host, waiting);
	host_expect(host, "d. a? b.");
	host_cancel(host, worker);
	host_cancel(host, worker);
	host_cancel(host, running);
	host_cancel(host, waiting);
	host_cancel(host, done);
	host_cancel(host, never);
	host_goes(host, 1, "");
	assert_false(done->sched.cancelled);
	assert_int_equal(never->sched.state, OVT_SCHED_NEW);
	host_segment_ends(host, worker);
	host_segment_fails(host, running);
	host_goes(host, 10, "w. a.");
}

static void cancelled_tasks_block_no_other(void **state)
{
	struct host *host = host_new(state, &(struct host_options){ .cores = 2, .task_limit = 3 });
	struct host_task *any, *first, *high;

	host_arrive(host, 'x', "b10", 9, 1, 0);
	host_arrive(host, 'y', "b10", 9, 2, 0);
	host_goes(host, 0, "x0>1 y0>2");
	any = host_arrive(host, 'a', "b10", 8, 0, 1);
	first = host_arrive(host, 'b', "b10", 7, 1, 1);
	host_arrive(host, 'c', "b10", 6, 1, 1);
	host_arrive(host, 'd', "b10", 6, 2, 1);
	high = host_arrive(host, 'h', "b10", 255, 2, 1);
	host_cancel(host, high);
	host_goes(host, 1, "h.");
	host_cancel(host, any);
	host_cancel(host, first);
	host_segment_ends(host, &host->tasks[1]);
	host_goes(host, 10, "a. b. y. d0>2");
	host_segment_ends(host, &host->tasks[0]);
	host_goes(host, 10, "x. c0>1");
}

static void a_failed_segment_ends_its_task_alone(void **state)
{
	static const struct {
		const char *description;
		const char *segments;
		const char *answers;	/* b, which needs the slot and the worker, goes on */
	} rows[] = {
		{ "first BPU segment", "b10 c10 b10", "a0>1 a. b0>1" },
		{ "last BPU segment", "b10 c10", "a0>1 a. b0>1" },
		{ "leading CPU segment", "c10 b10", "a0! a. b0>1" },
		{ "a task of CPU segments", "c10 c10", "a0! a. b0>1" },
	};
	size_t row;

	for (row = 0; row < COUNT(rows); row++) {
		struct host *host = host_new(state, &(struct host_options){ .task_limit = 1,
								     .workers = 1 });
		struct host_task *task = host_arrive(host, 'a', rows[row].segments, 5, 1, 0);
		struct host_task *next = host_arrive(host, 'b', "b10 c10", 4, 1, 0);

		print_message("%s\n", rows[row].description);
		host_go(host, 0);
		host_segment_fails(host, task);
		host_goes(host, 10, rows[row].answers);
		assert_false(task->sched.cancelled);
		host_segment_ends(host, next);
		host_goes(host, 20, "b1!");
		host_segment_fails(host, next);
		host_goes(host, 30, "b.");
	}
}

static void a_failed_segment_in_the_middle_frees_slot_and_worker(void **state)
{
	struct host *host = host_new(state, &(struct host_options){ .workers = 1 });
	struct host_task *task = host_arrive(host, 'a', "b10 c10 b10", 5, 1, 0);

	host_arrive(host, 'b', "b10", 0, 1, 0);
	host_go(host, 0);
	host_segment_ends(host, task);
	host_arrive(host, 'c', "c10", 0, 1, 1);
	host_goes(host, 10, "a0>1 a1!");
	host_segment_fails(host, task);
	host_goes(host, 20, "a. b0>1 c0!");
}

static void a_task_may_arrive_again_after_its_end(void **state)
{
	struct host *host = host_new(state, &(struct host_options){ .cores = 2 });
	struct host_task *task = host_arrive(host, 'a', "b10 c5", 0, 0, 0);

	host_goes(host, 0, "a0>1");
	host_cancel(host, task);
	host_segment_fails(host, task);
	host_goes(host, 5, "a? a.");
	host->unfinished[0] = 1;
	host_arrive_task(host, task, 7);
	assert_false(task->sched.cancelled);
	assert_int_equal(task->sched.arrival_sequence, 2);
	assert_int_equal(task->sched.arrival_time, 7);
	host_goes(host, 7, "a0>2");
	host_segment_ends(host, task);
	host_goes(host, 17, "a1!");
	host_segment_ends(host, task);
	host_goes(host, 22, "a.");
}

static void a_removed_process_and_queue_leave_the_others_served(void **state)
{
	struct host *host = host_new(state, NULL);
	struct host_task *tasks[3];
	u32 index;

	for (index = 1; index < 3; index++) {
		ovt_sched_add_queue(&host->sched, &host->queues[index], host->cores[index]);
		host_add_process(host, index, index);
	}
	for (index = 0; index < 3; index++) {
		tasks[index] = host_task(host, (char)('a' + index), "b10 c10", 0, 1);
		tasks[index]->sched.process = &host->processes[index];
		host_arrive_task(host, tasks[index], 0);
	}
	host_goes(host, 0, "a0>1 b0>1 c0>1");
	host_cancel(host, tasks[1]);
	host_segment_fails(host, tasks[1]);
	host_expect(host, "b? b.");
	ovt_sched_remove_process(&host->processes[1]);
	ovt_sched_remove_queue(&host->queues[1]);
	/* The scheduler must not use the memory of the process any more. */
	memset(&host->processes[1], 0xff, sizeof(host->processes[1]));
	memset(&host->queues[1], 0xff, sizeof(host->queues[1]));
	host_segment_ends(host, tasks[2]);
	host_segment_ends(host, tasks[0]);
	host_goes(host, 10, "a1! c1!");

	ovt_sched_add_queue(&host->sched, &host->queues[1], host->cores[1]);
	host_add_process(host, 1, 1);
	host_arrive_task(host, tasks[1], 11);
	host_segment_ends(host, tasks[0]);
	host_goes(host, 11, "a. b0>1");
}

static void one_process_of_a_shared_queue_leaves_without_the_other(void **state)
{
	struct host *host = host_new(state, &(struct host_options){ .workers = 1 });
	struct host_task *staying;

	host_add_process(host, 1, 0);
	staying = host_task(host, 's', "b10 c10", 0, 1);
	staying->sched.process = &host->processes[1];
	host_arrive(host, 'l', "b10", 1, 1, 0);
	host_arrive_task(host, staying, 0);
	host_goes(host, 0, "l0>1");
	host_segment_ends(host, &host->tasks[1]);
	ovt_sched_remove_process(&host->processes[0]);
	memset(&host->processes[0], 0xff, sizeof(host->processes[0]));
	host_goes(host, 10, "l. s0>1");
	host_segment_ends(host, staying);
	host_goes(host, 20, "s1!");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_waiting_task_ends_at_its_cancel),
		CASE(a_ready_task_ends_at_its_cancel_and_counts_no_more),
		CASE(a_task_that_waits_for_a_worker_ends_at_its_cancel),
		CASE(a_running_cpu_segment_ends_before_its_cancelled_task),
		CASE(a_running_job_is_cancelled_and_its_task_ends_with_it),
		CASE(cancelling_twice_or_too_late_or_too_early_does_nothing),
		CASE(cancelled_tasks_block_no_other),
		CASE(a_failed_segment_ends_its_task_alone),
		CASE(a_failed_segment_in_the_middle_frees_slot_and_worker),
		CASE(a_task_may_arrive_again_after_its_end),
		CASE(a_removed_process_and_queue_leave_the_others_served),
		CASE(one_process_of_a_shared_queue_leaves_without_the_other),
	};

	return cmocka_run_group_tests_name("sched: end", tests, NULL, NULL);
}
