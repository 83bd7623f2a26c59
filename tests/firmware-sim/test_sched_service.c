// SPDX-License-Identifier: MIT
/*
 * Rules of the scheduler for processes that share it and need not trust each other: overdue CPU
 * segments, places that are kept, and processes that go while they have tasks.
 */
#include "cmocka_all.h"
#include "sched_host.h"

#define MIN_TIME	20u
#define FACTOR		4u

static struct host *new_service(void **state, const struct host_options *options, u32 processes)
{
	struct host_options chosen = *options;
	struct host *host;
	u32 number;

	if (!chosen.overdue_factor)
		chosen.overdue_factor = FACTOR;
	host = host_new(state, &chosen);
	for (number = 1; number < processes; number++)
		host_add_process(host, number, 0);
	return host;
}

static const struct host_options with_overdue = { .overdue_min_time = MIN_TIME };

static struct host_task *arrive_of(struct host *host, u32 process, char name, const char *segments,
				   u32 priority, u64 now)
{
	struct host_task *task = host_task(host, name, segments, priority, 1);

	task->sched.process = &host->processes[process];
	host_arrive_task(host, task, now);
	return task;
}

static void nothing_is_overdue_unless_asked_for(void **state)
{
	struct host *host = host_new(state, NULL);

	host_arrive(host, 'a', "c1 b10", 5, 1, 0);
	host_goes(host, 0, "a0!");
	assert_true(ovt_sched_next_time(&host->sched) == ~0ull);
	host_goes(host, ~0ull - 1, "");
}

static void a_segment_is_overdue_once_its_time_is_over(void **state)
{
	struct host *host = new_service(state, &with_overdue, 1);
	struct host_task *task = host_arrive(host, 'a', "c1 c6 b10", 5, 1, 100);

	host_goes(host, 100, "a0!");
	assert_true(ovt_sched_next_time(&host->sched) == 100 + MIN_TIME);
	host_goes(host, 100 + MIN_TIME - 1, "");
	assert_false(task->sched.overdue);
	host_segment_ends(host, task);
	host_goes(host, 100 + MIN_TIME, "a1!");
	/* Four times its estimate is more than MIN_TIME, which every segment has. */
	assert_true(ovt_sched_next_time(&host->sched) == 100 + MIN_TIME + 6 * FACTOR);
	host_goes(host, 100 + MIN_TIME + 6 * FACTOR, "a1-");
	assert_true(task->sched.overdue);
	assert_true(ovt_sched_next_time(&host->sched) == ~0ull);
	host_segment_ends(host, task);
	assert_false(task->sched.overdue);
	host_goes(host, 1000, "a2>1");
}

/* Eight segments run for 19 of their 20: the allowance, 2 * 4 * 20, is over in the ninth. */
static void segments_of_a_task_have_an_allowance_together(void **state)
{
	struct host *host = new_service(state, &with_overdue, 1);
	struct host_task *task =
		host_arrive(host, 'a', "c1 c1 c1 c1 c1 c1 c1 c1 c1 c1 b10", 5, 1, 0);
	const u64 allowance = 2 * OVT_SCHED_SHORT_SEGMENTS * MIN_TIME;
	u64 now = 0;
	u32 segment;

	for (segment = 0; segment < 8; segment++) {
		host_go(host, now);
		assert_true(ovt_sched_next_time(&host->sched) == now + MIN_TIME);
		now += MIN_TIME - 1;
		host_go(host, now);
		assert_false(task->sched.overdue);
		host_segment_ends(host, task);
	}
	host_go(host, now);
	assert_true(ovt_sched_next_time(&host->sched) == allowance);
	host->answers[0] = 0;
	host_goes(host, allowance - 1, "");
	host_goes(host, allowance, "a8-");
	assert_int_equal(host->queues[0].dispatched, 0);
	/* The task has no allowance left: its next segment is overdue when its turn comes. */
	host_segment_ends(host, task);
	host_goes(host, allowance + 5, "a9- a9!");
	host_segment_ends(host, task);
	host_goes(host, allowance + 6, "a10>1");
}

/* Waiting for a worker counts as well as running; the estimates of all segments add up. */
static void the_allowance_grows_with_what_is_expected(void **state)
{
	struct host *host = new_service(state, 
		&(struct host_options){ .overdue_min_time = 1, .workers = 1 }, 1);
	struct host_task *first = host_arrive(host, 'a', "c10", 5, 1, 0);
	struct host_task *task = host_arrive(host, 'b', "c10 c2 c10", 4, 1, 0);

	host_goes(host, 0, "a0!");
	assert_true(task->sched.cpu_allowance == 2 * FACTOR * 22);
	host_segment_ends(host, first);
	host_goes(host, 30, "a. b0!"); /* waited for 30 */
	host_goes(host, 60, "");
	host_segment_ends(host, task);
	host_goes(host, 60, "b1!"); /* ran for 30 */
	assert_true(task->sched.cpu_allowance == 2 * FACTOR * 22 - 60);
}

static void no_time_is_too_long_to_be_added(void **state)
{
	struct host *host = new_service(state, &(struct host_options){ .overdue_min_time = ~0ull }, 1);

	host_arrive(host, 'a', "c18446744073709551615 b1", 5, 1, 100);
	host_goes(host, 100, "a0!");
	assert_true(ovt_sched_next_time(&host->sched) == ~0ull);
}

static void what_is_overdue_gives_its_slot_up_and_comes_back_in_its_turn(void **state)
{
	struct host *host = new_service(state, &with_overdue, 2);
	struct host_task *slow = arrive_of(host, 0, 'a', "b10 c1 b10", 9, 0);
	struct host_task *other = arrive_of(host, 1, 'b', "b10", 5, 0);

	arrive_of(host, 1, 'c', "b10", 7, 0);
	host_goes(host, 0, "a0>1");
	host_segment_ends(host, slow);
	host_goes(host, 10, "a1!");
	host_goes(host, 10 + MIN_TIME, "a1- c0>1");
	host_segment_ends(host, slow);		/* ready, behind the task that has the slot */
	host_goes(host, 40, "");
	assert_int_equal(slow->sched.state, OVT_SCHED_READY);
	host_segment_ends(host, &host->tasks[2]);
	host_goes(host, 50, "c. a2>1");
	host_segment_ends(host, slow);
	host_goes(host, 60, "a. b0>1");
	host_segment_ends(host, other);
	host_expect(host, "b.");
	assert_int_equal(host->cores[0][0].holders, 0);
	assert_int_equal(host->queues[0].dispatched, 0);
}

static void a_core_0_task_that_was_overdue_stays_on_its_core(void **state)
{
	struct host *host = new_service(state, 
		&(struct host_options){ .overdue_min_time = MIN_TIME, .cores = 2 }, 1);
	struct host_task *slow;

	host->unfinished[0] = 1;
	slow = host_arrive(host, 'a', "b10 c1 b10", 9, 0, 0);
	host_goes(host, 0, "a0>2");
	host_segment_ends(host, slow);
	host_goes(host, 10, "a1!");
	host_goes(host, 10 + MIN_TIME, "a1-");
	host_segment_ends(host, slow);
	host->unfinished[0] = 0;
	host->unfinished[1] = 9;
	host_goes(host, 40, "a2>2");
}

static void what_waits_for_a_worker_is_overdue_too_and_once_only(void **state)
{
	struct host *host = new_service(state, 
		&(struct host_options){ .overdue_min_time = MIN_TIME, .workers = 1 }, 1);
	struct host_task *first = host_arrive(host, 'a', "c1", 9, 1, 0);

	host_arrive(host, 'b', "c1", 5, 1, 0);
	host_goes(host, 0, "a0!");
	host_goes(host, MIN_TIME, "b0- a0-");
	assert_int_equal(host->queues[0].dispatched, 0);
	host_segment_ends(host, first);
	host_goes(host, 30, "a. b0!");		/* not watched again */
	assert_true(ovt_sched_next_time(&host->sched) == ~0ull);
}

static void each_segment_has_its_time_waiting_and_running(void **state)
{
	struct host *host = new_service(state, 
		&(struct host_options){ .overdue_min_time = MIN_TIME, .workers = 1 }, 1);
	struct host_task *first = host_arrive(host, 'a', "c1", 9, 1, 0);

	host_arrive(host, 'b', "c1", 5, 1, 0);
	host_goes(host, 0, "a0!");
	host->now = 15;
	host_segment_ends(host, first);
	host_goes(host, 15, "a. b0!");
	assert_true(ovt_sched_next_time(&host->sched) == 15 + MIN_TIME);
}

static void what_was_overdue_counts_for_the_task_limit_no_more(void **state)
{
	struct host *host = new_service(state, 
		&(struct host_options){ .overdue_min_time = MIN_TIME, .task_limit = 1 }, 1);
	struct host_task *slow = host_arrive(host, 'a', "c1 b10", 9, 1, 0);
	struct host_task *other = host_arrive(host, 'b', "c1 b10", 5, 1, 0);

	host_goes(host, 0, "a0!");
	host_goes(host, MIN_TIME, "a0- b0!");
	host_segment_ends(host, slow);
	host_arrive(host, 'c', "b10", 1, 1, 30);
	host_goes(host, 30, "a1>1");		/* b still counts */
	assert_int_equal(host->queues[0].dispatched, 1);
	host_cancel(host, slow);
	host_segment_fails(host, slow);
	host_expect(host, "a? a.");
	assert_int_equal(host->queues[0].dispatched, 1);
	host_cancel(host, other);
	host_segment_ends(host, other);
	host_goes(host, 31, "b. c0>1");
}

static void a_cancel_of_what_is_overdue_waits_for_its_segment(void **state)
{
	struct host *host = new_service(state, &with_overdue, 1);
	struct host_task *slow = host_arrive(host, 'a', "c1 b10", 9, 1, 0);

	host_goes(host, 0, "a0!");
	host_cancel(host, slow);
	host_goes(host, MIN_TIME, "a0-");
	host_segment_ends(host, slow);
	host_goes(host, 50, "a.");
}

static void who_ends_in_time_is_not_looked_at_again(void **state)
{
	struct host *host = new_service(state, &with_overdue, 1);
	struct host_task *task = host_arrive(host, 'a', "c1 b10 c1", 9, 1, 0);
	struct host_task *waits;

	host_goes(host, 0, "a0!");
	host_segment_ends(host, task);
	host_goes(host, 1, "a1>1");
	assert_true(ovt_sched_next_time(&host->sched) == ~0ull);
	waits = host_arrive(host, 'b', "c1", 9, 1, 1);
	host_goes(host, 1, "b0!");
	host_cancel(host, waits);
	host_segment_ends(host, waits);
	host_expect(host, "b.");
	assert_true(ovt_sched_next_time(&host->sched) == ~0ull);
}

static void priority_255_that_is_overdue_goes_on_at_once(void **state)
{
	struct host *host = new_service(state, &with_overdue, 1);
	struct host_task *high = host_arrive(host, 'a', "b10 c1 b10", 255, 1, 0);

	host_goes(host, 0, "a0>1");
	host_segment_ends(host, high);
	host_goes(host, 10, "a1!");
	host_goes(host, 10 + MIN_TIME, "a1-");
	host_arrive(host, 'b', "b10", 5, 1, 31);
	host_goes(host, 31, "b0>1");
	host_segment_ends(host, high);
	host_expect(host, "a2>1");
}

static void a_place_is_kept_for_each_process_that_waits_and_holds_none(void **state)
{
	struct host *host = new_service(state, &(struct host_options){ .share = true, .task_limit = 4 }, 4);
	struct host_task *first;

	arrive_of(host, 2, 'y', "b10", 1, 0);
	arrive_of(host, 3, 'z', "b10", 1, 0);
	first = arrive_of(host, 0, 'a', "c1", 9, 0);
	arrive_of(host, 0, 'b', "c1", 9, 0);
	arrive_of(host, 0, 'c', "c1", 9, 0);
	/* y takes the slot and a place, and z has a kept place: a and b have the other two. */
	host_goes(host, 0, "y0>1 a0! b0!");
	host_segment_ends(host, first);
	host_goes(host, 1, "a. c0!");
	assert_int_equal(host->queues[0].places_kept, 1);
	host_cancel(host, &host->tasks[1]);
	host_expect(host, "z.");
	assert_int_equal(host->queues[0].places_kept, 0);
}

static void the_kept_place_opens_to_all_when_no_process_wants_it(void **state)
{
	struct host *host = new_service(state, &(struct host_options){ .share = true, .task_limit = 2 }, 2);
	struct host_task *waits;

	arrive_of(host, 0, 'a', "b10", 9, 0);
	waits = arrive_of(host, 1, 'z', "b10", 1, 0);
	arrive_of(host, 0, 'b', "c1", 9, 0);
	host_goes(host, 0, "a0>1");
	host_cancel(host, waits);
	host_goes(host, 0, "z. b0!");
}

static void who_holds_none_may_take_the_last_place(void **state)
{
	struct host *host = new_service(state, &(struct host_options){ .share = true, .task_limit = 1 }, 3);
	struct host_task *first = arrive_of(host, 0, 'a', "c1", 1, 0);

	host_goes(host, 0, "a0!");
	arrive_of(host, 0, 'b', "c1", 254, 0);
	arrive_of(host, 1, 'x', "c1", 5, 0);
	arrive_of(host, 2, 'y', "c1", 7, 0);
	host_goes(host, 0, "");
	host_segment_ends(host, first);
	/* No process holds a place now: the priority decides. */
	host_goes(host, 1, "a. b0!");
	host_segment_ends(host, &host->tasks[1]);
	host_goes(host, 2, "b. y0!");
}

/* A process without a kept place takes its turn among those that hold places. */
static void no_place_is_kept_for_whom_the_host_names(void **state)
{
	struct host *host = new_service(state, &(struct host_options){ .share = true, .task_limit = 2 }, 3);
	struct host_task *first;

	host->processes[1].no_kept_place = true;
	first = arrive_of(host, 0, 'a', "c1", 9, 0);
	arrive_of(host, 0, 'b', "c1", 9, 0);
	host_goes(host, 0, "a0! b0!");
	arrive_of(host, 1, 'x', "c1", 200, 0);
	arrive_of(host, 2, 'y', "c1", 1, 0);
	assert_int_equal(host->queues[0].places_kept, 1);
	host_segment_ends(host, first);
	host_goes(host, 1, "a. y0!"); /* y gets the place, though x has a higher priority */
	host_segment_ends(host, &host->tasks[1]);
	host_goes(host, 2, "b. x0!");
}

static void without_a_share_priority_alone_decides(void **state)
{
	struct host *host = new_service(state, &(struct host_options){ .task_limit = 2 }, 2);

	arrive_of(host, 1, 'z', "c1", 1, 0);
	arrive_of(host, 0, 'a', "c1", 9, 0);
	arrive_of(host, 0, 'b', "c1", 9, 0);
	host_goes(host, 0, "a0! b0!");
}

/* One task in each state that a task can be in. */
static void a_process_goes_with_all_its_tasks(void **state)
{
	struct host *host = new_service(state, 
		&(struct host_options){ .overdue_min_time = MIN_TIME, .workers = 2, .share = true },
		2);
	struct host_task *on_device = arrive_of(host, 0, 'd', "b10", 9, 0);
	struct host_task *ready = arrive_of(host, 0, 'r', "c1 b10", 8, 0);
	struct host_task *other;

	host_goes(host, 0, "d0>1 r0!");
	host_segment_ends(host, ready);
	arrive_of(host, 0, 'o', "c1", 7, 0);
	arrive_of(host, 0, 'c', "c1", 6, 0);
	arrive_of(host, 0, 'q', "c1", 5, 0);
	arrive_of(host, 0, 'w', "b10", 4, 0);
	arrive_of(host, 0, 'h', "c1", 255, 0);
	other = arrive_of(host, 1, 'x', "b10", 1, 0);
	host_goes(host, 0, "h0! o0!");
	host_goes(host, MIN_TIME, "c0- q0- h0- o0-");
	host_abandon(host, 0);
	host_expect(host, "r. d? w. c. q. h. o."); /* tasks that bar or hold a core come first */
	host_goes(host, MIN_TIME, "");
	host_abandon(host, 0);
	host_expect(host, "");
	host_segment_fails(host, on_device);
	host_goes(host, 30, "d. x0>1");
	assert_int_equal(host->processes[0].workers_busy, 0);
	assert_int_equal(host->processes[0].dispatched, 0);
	assert_int_equal(host->processes[0].waiting, 0);
	assert_true(ovt_sched_next_time(&host->sched) == ~0ull);
	ovt_sched_remove_process(&host->processes[0]);
	memset(&host->processes[0], 0xff, sizeof(host->processes[0]));
	host_segment_ends(host, other);
	host_goes(host, 40, "x.");
	assert_int_equal(host->queues[0].dispatched, 0);
	assert_int_equal(host->queues[0].places_kept, 0);
}

static void a_job_that_was_cancelled_before_is_not_cancelled_again(void **state)
{
	struct host *host = new_service(state, &with_overdue, 1);
	struct host_task *task = host_arrive(host, 'a', "b10", 9, 1, 0);

	host_goes(host, 0, "a0>1");
	host_cancel(host, task);
	host_abandon(host, 0);
	host_expect(host, "a?");
	host_segment_fails(host, task);
	host_expect(host, "a.");
}

/* From the first call on none of its tasks is chosen or bars a core, though they still wait. */
static void a_process_that_goes_is_in_no_ones_way(void **state)
{
	struct host *host = new_service(state, &(struct host_options){ .cores = 2, .task_limit = 2,
								.share = true }, 3);
	struct ovt_sched_process *gone = &host->processes[0];
	struct ovt_sched_action action;
	u32 i;

	arrive_of(host, 0, 'd', "b10", 9, 0);
	host_goes(host, 0, "d0>1");
	for (i = 0; i < 8; i++)
		arrive_of(host, 0, (char)('A' + i), i % 2 ? "b10" : "c1", 200, 0);
	arrive_of(host, 0, 'H', "b10", 255, 0);
	arrive_of(host, 1, 'x', "b10", 1, 0);
	assert_true(ovt_sched_abandon(&host->sched, gone, &action)); /* one of eleven */
	assert_int_equal(action.type, OVT_SCHED_CANCEL_JOB);
	assert_int_equal(gone->in_state[OVT_SCHED_WAITING], 9);
	assert_int_equal(host->queues[0].places_kept, 1); /* for x's process alone */
	assert_int_equal(host->queues[0].cores_waiting, 1);
	/* Its HIGH task ends in its turn; x waits for the slot that d has. */
	host_goes(host, 1, "H.");
	host_segment_fails(host, &host->tasks[0]);
	host_goes(host, 2, "d. x0>1");
	assert_int_equal(gone->in_state[OVT_SCHED_WAITING], 8);
	host_abandon(host, 0);
	host_expect(host, "A. B. C. D. E. F. G. H.");
	assert_int_equal(gone->in_state[OVT_SCHED_WAITING], 0);
	ovt_sched_remove_process(gone);
}

/* A task that holds a slot ends before the many that hold nothing. */
static void tasks_that_hold_something_end_first(void **state)
{
	struct host *host = new_service(state, &(struct host_options){ .workers = 1 }, 2);
	struct ovt_sched_action action;
	struct host_task *holder;
	u32 i;

	for (i = 0; i < 8; i++)
		arrive_of(host, 0, (char)('a' + i), "b10", 5, 0);
	holder = arrive_of(host, 0, 'h', "b10 c1 b10", 9, 0);
	arrive_of(host, 1, 'x', "b10", 1, 0);
	host_goes(host, 0, "h0>1");
	host_segment_ends(host, holder);
	host_goes(host, 1, "h1!");
	assert_int_equal(host->processes[0].slots, 1);
	assert_true(ovt_sched_abandon(&host->sched, &host->processes[0], &action));
	assert_ptr_equal(action.task, &holder->sched);
	assert_int_equal(host->processes[0].slots, 0);
	host_goes(host, 2, "x0>1");
	host_abandon(host, 0);
}

/* A question about a process costs the same however many tasks the process has. */
static void tasks_are_counted_by_state(void **state)
{
	struct host *host = new_service(state, &with_overdue, 1);
	const struct ovt_sched_process *process = &host->processes[0];
	struct host_task *task = arrive_of(host, 0, 'a', "c1 b10 c1 b10", 9, 0);

	arrive_of(host, 0, 'b', "b10", 8, 0);
	assert_int_equal(process->in_state[OVT_SCHED_WAITING], 2);
	host_go(host, 0);
	assert_int_equal(process->in_state[OVT_SCHED_CPU_RUNNING], 1);
	assert_int_equal(process->in_state[OVT_SCHED_BPU], 1);
	assert_int_equal(process->slots, 1);
	host_segment_ends(host, task);
	assert_int_equal(process->in_state[OVT_SCHED_READY], 1);
	host_segment_ends(host, &host->tasks[1]);
	host_go(host, 1);
	assert_int_equal(process->in_state[OVT_SCHED_BPU], 1);
	host_segment_ends(host, task);
	host_go(host, 2);
	host_go(host, 2 + MIN_TIME);
	assert_int_equal(process->overdue, 1);
	assert_int_equal(process->slots, 0);
	host_segment_ends(host, task);
	assert_int_equal(process->overdue, 0);
	host_go(host, 100);
	host_segment_ends(host, task);
	assert_int_equal(process->in_state[OVT_SCHED_WAITING] + process->in_state[OVT_SCHED_READY] +
			 process->in_state[OVT_SCHED_CPU_WAITING] + process->slots +
			 process->in_state[OVT_SCHED_CPU_RUNNING] + process->in_state[OVT_SCHED_BPU], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(nothing_is_overdue_unless_asked_for),
		CASE(a_segment_is_overdue_once_its_time_is_over),
		CASE(segments_of_a_task_have_an_allowance_together),
		CASE(the_allowance_grows_with_what_is_expected),
		CASE(no_time_is_too_long_to_be_added),
		CASE(what_is_overdue_gives_its_slot_up_and_comes_back_in_its_turn),
		CASE(a_core_0_task_that_was_overdue_stays_on_its_core),
		CASE(what_waits_for_a_worker_is_overdue_too_and_once_only),
		CASE(each_segment_has_its_time_waiting_and_running),
		CASE(what_was_overdue_counts_for_the_task_limit_no_more),
		CASE(a_cancel_of_what_is_overdue_waits_for_its_segment),
		CASE(who_ends_in_time_is_not_looked_at_again),
		CASE(priority_255_that_is_overdue_goes_on_at_once),
		CASE(a_place_is_kept_for_each_process_that_waits_and_holds_none),
		CASE(the_kept_place_opens_to_all_when_no_process_wants_it),
		CASE(who_holds_none_may_take_the_last_place),
		CASE(no_place_is_kept_for_whom_the_host_names),
		CASE(without_a_share_priority_alone_decides),
		CASE(a_process_goes_with_all_its_tasks),
		CASE(a_process_that_goes_is_in_no_ones_way),
		CASE(tasks_that_hold_something_end_first),
		CASE(tasks_are_counted_by_state),
		CASE(a_job_that_was_cancelled_before_is_not_cancelled_again),
	};

	return cmocka_run_group_tests_name("sched: service", tests, NULL, NULL);
}
