// SPDX-License-Identifier: MIT
/* The scheduler answers what a task waits for, and the question changes nothing. */
#include <stdio.h>
#include <stdlib.h>

#include "cmocka_all.h"
#include "sched/waits_for.h"
#include "sched_host.h"

#define LONG	"b100"

static void append(char *text, size_t size, const char *format, u64 value)
{
	size_t used = strlen(text);

	snprintf(text + used, size - used, format, value);
}

static void append_name(char *text, size_t size, const char *before, char name, const char *after)
{
	size_t used = strlen(text);

	snprintf(text + used, size - used, "%s%c%s", before, name, after);
}

/* Writes "slot 1 2: a (b)": a slot on core 1 or 2; a has one, and b, in a gap that is closed. */
static void describe(struct host *host, const struct ovt_sched_wait *wait, char *text, size_t size)
{
	static const char *const types[] = { "-", "place", "kept", "behind", "slot", "worker" };
	u64 left;
	u32 index;

	snprintf(text, size, "%s", types[wait->type]);
	assert_int_equal(wait->ahead != NULL, wait->type == OVT_SCHED_WAIT_TASK);
	assert_int_equal(wait->cores != 0, wait->type == OVT_SCHED_WAIT_SLOT);
	for (left = wait->cores; left; left &= left - 1)
		append(text, size, " %llu", (u64)__builtin_ctzll(left) + 1);
	if (wait->type != OVT_SCHED_WAIT_NONE)
		append(text, size, ":", 0);
	for (index = 0; index < host->task_count; index++) {
		struct host_task *other = &host->tasks[index];

		switch (ovt_sched_obstacle_of(wait, &other->sched)) {
		case OVT_SCHED_OBSTACLE:
			append_name(text, size, " ", other->name, "");
			break;
		case OVT_SCHED_CLOSED_GAP:
			append_name(text, size, " (", other->name, ")");
			break;
		default:
			break;
		}
	}
}

static void expect_wait(struct host *host, struct host_task *task, u64 now, const char *expected)
{
	struct host *before = malloc(sizeof(*before));
	struct ovt_sched_wait wait;
	char text[256];

	memcpy(before, host, sizeof(*before));
	memset(&wait, 0x5a, sizeof(wait));
	ovt_sched_waits_for(&host->sched, &task->sched, now, &wait);
	assert_ptr_equal(wait.task, &task->sched);
	assert_int_equal(wait.now, now);
	describe(host, &wait, text, sizeof(text));
	assert_string_equal(text, expected);
	before->sched.steps = host->sched.steps;
	assert_memory_equal(before, host, sizeof(*before));
	free(before);
}

static struct host_task *arrive_of(struct host *host, u32 process, char name, const char *segments,
				   u32 priority, u32 core)
{
	struct host_task *task = host_task(host, name, segments, priority, core);

	task->sched.process = &host->processes[process];
	host_arrive_task(host, task, host->now);
	return task;
}

static void a_task_that_goes_waits_for_nothing(void **state)
{
	struct host *host = host_new(state, &(struct host_options){ .cores = 2 });
	struct host_task *a = host_arrive(host, 'a', "b10 c5", 1, 1, 0);
	struct host_task *high = host_arrive(host, 'h', "b10", 255, 1, 0);
	struct host_task *any = host_arrive(host, 'x', "b10", 0, 0, 0);

	expect_wait(host, a, 0, "-");		/* the next call lets it go */
	expect_wait(host, high, 0, "-");
	expect_wait(host, any, 0, "-");		/* to core 2 */
	host_goes(host, 0, "h0>1 a0>1 x0>2");
	expect_wait(host, a, 0, "-");
	host_segment_ends(host, a);
	expect_wait(host, a, 10, "-");
	host_goes(host, 10, "a1!");
	expect_wait(host, a, 10, "-");
	host_segment_ends(host, a);
	expect_wait(host, a, 15, "-");
}

static void high_waits_for_a_worker_alone(void **state)
{
	struct host *host =
		host_new(state, &(struct host_options){ .workers = 1, .task_limit = 1 });
	struct host_task *a = host_arrive(host, 'a', LONG, 1, 1, 0);
	struct host_task *h;
	struct host_task *i;

	host_goes(host, 0, "a0>1");
	h = host_arrive(host, 'h', "c5 b1", 255, 1, 1);
	i = host_arrive(host, 'i', "c5 b1", 255, 1, 1);
	expect_wait(host, i, 1, "-");		/* behind h it waits no time */
	host_goes(host, 1, "h0!");
	expect_wait(host, i, 1, "worker: h");
	host_segment_ends(host, h);
	expect_wait(host, h, 6, "-");
	host_segment_ends(host, a);
}

static void a_place_of_the_task_limit(void **state)
{
	struct host *host = host_new(state, &(struct host_options){ .cores = 3, .task_limit = 2 });
	struct host_task *waiting[3];
	u32 index;

	host_arrive(host, 'a', LONG, 1, 1, 0);
	host_arrive(host, 'h', LONG, 255, 1, 0);	/* counts for nothing */
	host_arrive(host, 'b', "c9 b1", 1, 2, 0);
	host_goes(host, 0, "h0>1 a0>1 b0!");
	waiting[0] = host_arrive(host, 'w', LONG, 9, 3, 1);
	waiting[1] = host_arrive(host, 'x', "c5", 9, 0, 1);
	waiting[2] = host_arrive(host, 'y', LONG, 0, 0, 1);
	host_goes(host, 1, "");
	for (index = 0; index < 3; index++)
		expect_wait(host, waiting[index], 1, "place: a b");
}

static void a_place_that_is_kept_for_others(void **state)
{
	struct host *host = host_new(state, &(struct host_options){ .cores = 2, .task_limit = 3,
								    .share = true });
	struct host_task *b;
	struct host_task *x;
	struct host_task *y;

	host_add_process(host, 1, 0);
	host_add_process(host, 2, 0);
	host->processes[2].no_kept_place = true;
	arrive_of(host, 0, 'a', LONG, 9, 1);
	arrive_of(host, 0, 'c', LONG, 9, 2);
	host_goes(host, 0, "a0>1 c0>2");
	b = arrive_of(host, 0, 'b', LONG, 200, 2);
	expect_wait(host, b, 0, "slot 2: c");	/* while no other process wants a place */
	x = arrive_of(host, 1, 'x', LONG, 1, 1);
	y = arrive_of(host, 2, 'y', LONG, 9, 2);
	host_goes(host, 0, "");
	expect_wait(host, b, 0, "kept: a c");
	expect_wait(host, x, 0, "slot 1: a");
	expect_wait(host, y, 0, "kept: a c");
}

static void a_slot_of_its_core_or_of_any(void **state)
{
	struct host *host = host_new(state, &(struct host_options){ .cores = 3, .slots = 2 });
	struct host_task *p;
	struct host_task *q;
	struct host_task *other_queue;
	u32 index;

	ovt_sched_add_queue(&host->sched, &host->queues[1], host->cores[1]);
	host_add_process(host, 1, 1);
	for (index = 0; index < 6; index++)
		host_arrive(host, (char)('a' + index), LONG, 1, index % 3 + 1, 0);
	other_queue = arrive_of(host, 1, 'o', LONG, 1, 2);
	host_goes(host, 0, "a0>1 b0>2 c0>3 d0>1 e0>2 f0>3 o0>2");
	expect_wait(host, other_queue, 0, "-");
	p = host_arrive(host, 'p', LONG, 1, 2, 0);
	q = host_arrive(host, 'q', LONG, 2, 0, 0);
	host_goes(host, 0, "");
	expect_wait(host, q, 0, "slot 1 2 3: a b c d e f");
	expect_wait(host, p, 0, "behind: q");
	host_cancel(host, q);
	expect_wait(host, p, 0, "slot 2: b e");
	host_segment_ends(host, &host->tasks[1]);
	expect_wait(host, p, 0, "-");		/* one of its two slots is free */
}

/* The question compares the place of the task once, and looks at each core. */
static void each_core_is_a_step(void **state)
{
	struct host *host = host_new(state, &(struct host_options){ .cores = 3 });
	struct ovt_sched_wait wait;
	struct host_task *any;
	u64 before;
	u32 index;

	for (index = 0; index < 3; index++)
		host_arrive(host, (char)('a' + index), LONG, 1, index + 1, 0);
	host_goes(host, 0, "a0>1 b0>2 c0>3");
	any = host_arrive(host, 'x', LONG, 1, 0, 0);
	before = host->sched.steps;
	ovt_sched_waits_for(&host->sched, &any->sched, 0, &wait);
	assert_int_equal(host->sched.steps - before, 4);
}

static void its_turn_behind_a_better_placed_task(void **state)
{
	struct host *host = host_new(state, &(struct host_options){ .cores = 2 });
	struct host_task *one, *better, *second, *any, *next_any;

	host_arrive(host, 'a', LONG, 1, 1, 0);
	host_arrive(host, 'b', LONG, 1, 2, 0);
	host_goes(host, 0, "a0>1 b0>2");
	any = host_arrive(host, 'x', LONG, 5, 0, 0);
	next_any = host_arrive(host, 'y', LONG, 5, 0, 0);
	one = host_arrive(host, 'p', LONG, 4, 1, 0);
	better = host_arrive(host, 'q', LONG, 9, 1, 0);
	second = host_arrive(host, 'r', LONG, 6, 1, 0);
	expect_wait(host, any, 0, "slot 2: b");		/* q bars core 1 */
	expect_wait(host, next_any, 0, "behind: x");
	expect_wait(host, better, 0, "slot 1: a");
	expect_wait(host, second, 0, "behind: q");
	expect_wait(host, one, 0, "behind: q");
	host_cancel(host, better);
	expect_wait(host, one, 0, "behind: r");		/* of the two in front of it, the best */
	host_cancel(host, second);
	expect_wait(host, one, 0, "behind: x");
	expect_wait(host, any, 0, "slot 1 2: a b");
	better = host_arrive(host, 't', LONG, 8, 2, 0);
	expect_wait(host, any, 0, "slot 1: a");
	second = host_arrive(host, 's', LONG, 7, 1, 0);
	expect_wait(host, any, 0, "behind: t");		/* all cores are barred */
	host_cancel(host, better);
	better = host_arrive(host, 'u', LONG, 6, 2, 0);
	expect_wait(host, any, 0, "behind: s");
	expect_wait(host, second, 0, "slot 1: a");
	expect_wait(host, better, 0, "slot 2: b");
}

/* A task that waits for a place of the limit bars no other task. */
static void a_ready_task_waits_for_its_slot(void **state)
{
	struct host *host = host_new(state, &(struct host_options){ .cores = 2, .task_limit = 4 });
	struct host_task *r, *s, *w;

	r = host_arrive(host, 'r', "c5 " LONG, 2, 0, 0);
	s = host_arrive(host, 's', "c5 " LONG, 1, 1, 0);
	host_arrive(host, 'a', LONG, 1, 1, 0);
	host_arrive(host, 'b', LONG, 1, 2, 0);
	host_goes(host, 0, "a0>1 b0>2 r0! s0!");
	w = host_arrive(host, 'w', LONG, 9, 1, 0);
	host_segment_ends(host, r);
	host_segment_ends(host, s);
	host_goes(host, 5, "");
	expect_wait(host, w, 5, "place: r s a b");
	expect_wait(host, r, 5, "slot 1 2: a b");
	expect_wait(host, s, 5, "behind: r");
	host_cancel(host, r);
	host_go(host, 5);
	expect_wait(host, s, 5, "behind: w");		/* there is room for it now */
	host_cancel(host, w);
	expect_wait(host, s, 5, "slot 1: a");
}

static void a_gap_that_is_closed_to_it(void **state)
{
	struct host *host = host_new(state, &(struct host_options){ .slots = 2 });
	struct host_task *a = host_arrive(host, 'a', "b10 c30 b10", 5, 1, 0);
	struct host_task *b = host_arrive(host, 'b', LONG " c50 b10", 5, 1, 0);
	struct host_task *w;
	struct host_task *v;

	host_goes(host, 0, "a0>1 b0>1");
	host_segment_ends(host, a);
	w = host_arrive(host, 'w', "b30", 9, 1, 10);
	v = host_arrive(host, 'v', "b29", 1, 1, 10);
	host_goes(host, 10, "a1!");
	expect_wait(host, w, 10, "slot 1: (a) b");
	expect_wait(host, v, 10, "behind: w");
	host_cancel(host, w);
	expect_wait(host, v, 10, "-");			/* it would fit in */
	expect_wait(host, v, 11, "slot 1: (a) b");	/* but not for long */
	host_goes(host, 10, "w. v0>1");
	w = host_arrive(host, 'x', "b19", 9, 1, 10);
	host_segment_ends(host, b);
	host_go(host, 15);
	assert_int_equal(w->sched.state, OVT_SCHED_BPU);
	w = host_arrive(host, 'y', "b29", 9, 1, 15);
	host_go(host, 15);
	expect_wait(host, w, 15, "slot 1: (a) v x");	/* b's gap lets it in */
}

static void a_gap_never_closes_to_less_than_its_floor(void **state)
{
	struct host *host = host_new(state, &(struct host_options){ .insert_max_time = 8 });
	struct host_task *a = host_arrive(host, 'a', "b10 c30 b10", 5, 1, 0);
	struct host_task *w;
	struct host_task *v;

	host_goes(host, 0, "a0>1");
	host_segment_ends(host, a);
	w = host_arrive(host, 'z', "b8", 9, 1, 10);
	expect_wait(host, w, 10, "-");			/* though no worker is there yet */
	host_cancel(host, w);
	host_goes(host, 10, "z. a1!");
	w = host_arrive(host, 'w', "b8", 9, 1, 10);
	expect_wait(host, w, 31, "-");
	expect_wait(host, w, 32, "slot 1: (a)");
	expect_wait(host, w, 1000, "slot 1: (a)");
	host_cancel(host, w);
	v = host_arrive(host, 'v', "b7", 9, 1, 10);
	expect_wait(host, v, 1000, "-");
	host_go(host, 1000);				/* the gap falls no further */
	w = host_arrive(host, 'x', "b8", 9, 1, 1000);
	host_segment_ends(host, v);
	host_go(host, 1000);
	expect_wait(host, w, 1000, "slot 1: (a)");
}

/* Without rules of insertion a gap is closed, even before a worker has taken it. */
static void a_gap_of_a_policy_without_insertion(void **state)
{
	struct host *host = host_new(state, &(struct host_options){ .policy = "fifo" });
	struct host_task *a = host_arrive(host, 'a', "b10 c30 b10", 5, 1, 0);
	struct host_task *w = host_arrive(host, 'w', "b1", 9, 1, 0);

	host_goes(host, 0, "a0>1");
	expect_wait(host, w, 0, "slot 1: a");
	host_segment_ends(host, a);
	expect_wait(host, w, 10, "slot 1: (a)");
	host_goes(host, 10, "a1!");
	expect_wait(host, w, 10, "slot 1: (a)");
	host_segment_ends(host, a);
	expect_wait(host, w, 40, "slot 1: a");
}

static void a_cpu_worker_of_its_process(void **state)
{
	struct host *host = host_new(state, &(struct host_options){ .workers = 2 });
	struct host_task *b, *c, *d;

	host_add_process(host, 1, 0);
	arrive_of(host, 1, 'o', "c9", 9, 1);
	host_arrive(host, 'a', "c9", 9, 1, 0);
	host_goes(host, 0, "a0! o0!");
	b = host_arrive(host, 'b', "c9", 8, 1, 0);
	c = host_arrive(host, 'c', "c9", 7, 1, 0);
	expect_wait(host, b, 0, "-");
	expect_wait(host, c, 0, "behind: b");	/* to its dispatch */
	host_goes(host, 0, "b0!");
	expect_wait(host, c, 0, "worker: a b");
	d = host_arrive(host, 'd', "c9", 9, 1, 0);
	host_goes(host, 0, "");
	host_segment_ends(host, b);
	expect_wait(host, d, 9, "-");
	expect_wait(host, c, 9, "behind: d");	/* to the worker that is idle now */
}

static void a_process_that_goes_waits_for_nothing(void **state)
{
	struct host *host = host_new(state, &(struct host_options){ .workers = 1 });
	struct ovt_sched_action action;
	struct host_task *w, *c;

	host_arrive(host, 'a', LONG, 1, 1, 0);
	host_arrive(host, 'd', "c9", 9, 1, 0);
	c = host_arrive(host, 'c', "c9", 1, 1, 0);
	host_goes(host, 0, "a0>1 d0!");
	w = host_arrive(host, 'w', LONG, 1, 1, 0);
	expect_wait(host, w, 0, "slot 1: a");
	expect_wait(host, c, 0, "worker: d");
	assert_true(ovt_sched_abandon(&host->sched, &host->processes[0], &action));
	expect_wait(host, w, 0, "-");
	expect_wait(host, c, 0, "-");
}

/* Tasks that differ only in their place wait for the same, except the first. */
static void tasks_that_wait_among_each_other(void **state)
{
	struct host *host = host_new(state, &(struct host_options){ .cores = 2, .task_limit = 4 });
	struct host_task *one[3], *any[2], *other, *ready[2];
	const struct ovt_tree *tree;

	host_add_process(host, 1, 0);
	ready[0] = host_arrive(host, 'r', "c5 " LONG, 1, 1, 0);
	ready[1] = host_arrive(host, 's', "c5 " LONG, 2, 1, 0);
	host_arrive(host, 'a', LONG, 1, 1, 0);
	host_goes(host, 0, "a0>1 s0! r0!");
	one[0] = host_arrive(host, 'c', LONG, 2, 1, 0);
	one[1] = host_arrive(host, 'd', LONG, 1, 1, 0);
	one[2] = host_arrive(host, 'e', LONG, 3, 1, 0);
	any[0] = host_arrive(host, 'x', LONG, 1, 0, 0);
	any[1] = host_arrive(host, 'y', "c1", 1, 0, 0);
	other = arrive_of(host, 1, 'o', LONG, 1, 1);
	host_segment_ends(host, ready[0]);
	host_segment_ends(host, ready[1]);
	tree = ovt_sched_waits_among(&one[0]->sched);
	assert_ptr_equal(ovt_sched_waits_among(&one[1]->sched), tree);
	assert_ptr_equal(tree->first, &one[2]->sched.link);
	assert_ptr_equal(ovt_tree_next(tree->first), &one[0]->sched.link);
	assert_ptr_equal(ovt_tree_next(&one[0]->sched.link), &one[1]->sched.link);
	assert_null(ovt_tree_next(&one[1]->sched.link));
	assert_ptr_not_equal(ovt_sched_waits_among(&any[0]->sched), tree);
	assert_ptr_not_equal(ovt_sched_waits_among(&any[1]->sched), tree);
	assert_ptr_not_equal(ovt_sched_waits_among(&any[1]->sched),
			     ovt_sched_waits_among(&any[0]->sched));
	assert_ptr_not_equal(ovt_sched_waits_among(&other->sched), tree);
	tree = ovt_sched_waits_among(&ready[0]->sched);
	assert_ptr_equal(ovt_sched_waits_among(&ready[1]->sched), tree);
	assert_ptr_equal(tree->first, &ready[1]->sched.link);
}

/* Cores are of different kinds: tasks without a core are for cores 1 and 2. */
static u64 cores_of(const struct ovt_sched_task *task)
{
	(void)task;
	return 0x3;
}

static void some_cores_of_several(void **state)
{
	struct host *host = host_new(state, &(struct host_options){ .cores = 3 });
	struct host_task *any, *third, *first;

	host->sched.cores_of = cores_of;
	host_arrive(host, 'a', LONG, 9, 1, 0);
	host_arrive(host, 'b', LONG, 9, 2, 0);
	host_arrive(host, 'c', LONG, 9, 3, 0);
	host_goes(host, 0, "a0>1 b0>2 c0>3");
	any = host_arrive(host, 'x', LONG, 8, 0, 1);
	third = host_arrive(host, 'y', LONG, 7, 3, 1);
	first = host_arrive(host, 'z', LONG, 7, 1, 1);
	host_goes(host, 1, "");
	expect_wait(host, any, 1, "slot 1 2: a b");
	expect_wait(host, third, 1, "slot 3: c");
	expect_wait(host, first, 1, "behind: x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_task_that_goes_waits_for_nothing),
		CASE(high_waits_for_a_worker_alone),
		CASE(a_place_of_the_task_limit),
		CASE(a_place_that_is_kept_for_others),
		CASE(a_slot_of_its_core_or_of_any),
		CASE(each_core_is_a_step),
		CASE(its_turn_behind_a_better_placed_task),
		CASE(a_ready_task_waits_for_its_slot),
		CASE(a_gap_that_is_closed_to_it),
		CASE(a_gap_never_closes_to_less_than_its_floor),
		CASE(a_gap_of_a_policy_without_insertion),
		CASE(a_cpu_worker_of_its_process),
		CASE(a_process_that_goes_waits_for_nothing),
		CASE(tasks_that_wait_among_each_other),
		CASE(some_cores_of_several),
	};

	return cmocka_run_group_tests_name("sched: waits for", tests, NULL, NULL);
}
