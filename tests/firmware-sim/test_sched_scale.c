// SPDX-License-Identifier: MIT
/*
 * 100,000 tasks at once: the work of a call grows with the logarithm of the number of waiting
 * tasks, whatever the policy and whatever they wait for.  The tests count steps, and measure no
 * time.
 */
#include <stdlib.h>

#include "cmocka_all.h"
#include "sched/waits_for.h"

#ifdef __SANITIZE_ADDRESS__	/* ten times as slow, with the same steps */
#define TASKS		10000u
#define LOG2_OF_TASKS	14u	/* rounded up */
#else
#define TASKS		100000u
#define LOG2_OF_TASKS	17u	/* rounded up */
#endif

/*
 * Greatest steps of a call for each task that it dispatches, and of all calls in the mean.  A call
 * goes down and up some trees, none deeper than 2.41 log2(n + 1), and looks at each core.
 */
#define MOST_STEPS(cores)	(30u * LOG2_OF_TASKS + 16u * (cores))
#define MEAN_STEPS(cores)	(2u * LOG2_OF_TASKS + 3u * (cores))

static const struct ovt_sched_segment short_bpu[] = { { .time = 100, .fc_count = 1 } };
static const struct ovt_sched_segment cpu_alone[] = { { .time = 50 } };
static const struct ovt_sched_segment cpu_first[] = { { .time = 50 }, { .time = 90, .fc_count = 1 } };
static const struct ovt_sched_segment with_gap[] = {
	{ .time = 100, .fc_count = 1 }, { .time = 70 }, { .time = 200, .fc_count = 1 },
};
static const struct ovt_sched_segment with_long_gap[] = {
	{ .time = 60, .fc_count = 1 }, { .time = 900 }, { .time = 10, .fc_count = 1 },
};

struct shape {
	const struct ovt_sched_segment *segments;
	u32 count;
};

#define SHAPE(segments)	{ segments, COUNT(segments) }

struct row {
	const char *description;
	const char *policy;
	struct shape shapes[3];		/* each task has one of these, at random */
	u32 shape_count;
	u32 cores;
	u32 slots;
	u32 task_limit;
	u32 workers;
	u32 queues;			/* each with a process; @shared: processes of one queue */
	u32 priorities;			/* number of different ones, below 255 */
	bool random_ids;		/* custom_ids and deadlines are random */
	bool any_core;			/* every fourth task; the others name core 1, 2, ... */
	bool high;			/* every tenth is of priority 255 */
	bool shared;			/* places are kept, and CPU segments are overdue */
};

struct crowd {
	const struct row *row;
	struct ovt_sched sched;
	struct ovt_sched_queue *queues;
	struct ovt_sched_queue_core *queue_cores;
	struct ovt_sched_process *processes;
	struct ovt_sched_line *lines;
	struct ovt_sched_task *tasks;
	struct ovt_sched_task **running;	/* on the device or on a worker, in any order */
	u32 running_count;
	u32 ended;
	u32 overdue;
	u64 random;
	u64 unfinished[OVT_SCHED_MAX_CORES];	/* by core - 1 */
	u64 now;
	u64 calls;
	u64 questions;
	u64 steps;			/* before the present call */
	u64 dispatches;			/* before the present call */
	u64 most;			/* steps of a call for each task that it dispatches */
	struct ovt_sched_task **dispatched;	/* in order */
	u32 dispatched_count;
};

static u32 draw(struct crowd *crowd, u32 below)
{
	crowd->random = crowd->random * 6364136223846793005ull + 1442695040888963407ull;
	return (u32)((crowd->random >> 33) % below);
}

/* Counts the call of the scheduler that has just returned. */
static void count_call(struct crowd *crowd)
{
	u64 dispatches = crowd->sched.next_dispatch - crowd->dispatches;
	u64 steps = (crowd->sched.steps - crowd->steps) / (dispatches ? dispatches : 1);

	crowd->steps = crowd->sched.steps;
	crowd->dispatches = crowd->sched.next_dispatch;
	crowd->calls++;
	if (steps > crowd->most)
		crowd->most = steps;
	assert_in_range(steps, 0, MOST_STEPS(crowd->row->cores));
}

static void submit(struct crowd *crowd, const struct ovt_sched_action *action)
{
	u64 left = action->cores;
	u32 best = (u32)__builtin_ctzll(left);

	for (; left; left &= left - 1) {
		u32 core = (u32)__builtin_ctzll(left);

		if (crowd->unfinished[core] < crowd->unfinished[best])
			best = core;
	}
	if (!action->core)
		ovt_sched_placed(&crowd->sched, action->task, best + 1);
	crowd->unfinished[best]++;
}

static void carry_out(struct crowd *crowd, const struct ovt_sched_action *action)
{
	switch (action->type) {
	case OVT_SCHED_SUBMIT:
		submit(crowd, action);
		if (!action->segment)
			crowd->dispatched[crowd->dispatched_count++] = action->task;
		/* fall through */
	case OVT_SCHED_RUN_CPU:
		crowd->running[crowd->running_count++] = action->task;
		break;
	case OVT_SCHED_END:
		crowd->ended++;
		break;
	case OVT_SCHED_CANCEL_JOB:
		break;
	case OVT_SCHED_OVERDUE:
		crowd->overdue++;
		break;
	}
}

static void start(struct crowd *crowd, const struct row *row)
{
	const struct ovt_sched_settings settings = {
		.policy = ovt_sched_policy_find(row->policy),
		.slots = row->slots,
		.task_limit = row->task_limit,
		.workers = row->workers,
		.threshold_percent = 40,
		.insert_max_time = 80,
		.wait_dispatch_time = 1000,
		.overdue_min_time = row->shared ? 100 : 0,
		.overdue_factor = 2,
		.share = row->shared,
	};
	u32 index;

	memset(crowd, 0, sizeof(*crowd));
	crowd->row = row;
	crowd->random = 1;
	crowd->queues = calloc(row->queues, sizeof(*crowd->queues));
	crowd->queue_cores = calloc((size_t)row->queues * row->cores, sizeof(*crowd->queue_cores));
	crowd->processes = calloc(row->queues, sizeof(*crowd->processes));
	crowd->lines = calloc((size_t)row->queues * row->cores, sizeof(*crowd->lines));
	crowd->tasks = calloc(TASKS, sizeof(*crowd->tasks));
	crowd->running = calloc(TASKS, sizeof(struct ovt_sched_task *));
	crowd->dispatched = calloc(TASKS, sizeof(struct ovt_sched_task *));
	ovt_sched_init(&crowd->sched, row->cores, &settings);
	for (index = 0; index < row->queues; index++) {
		ovt_sched_add_queue(&crowd->sched, &crowd->queues[index],
				    &crowd->queue_cores[(size_t)index * row->cores]);
		ovt_sched_add_process(&crowd->sched, &crowd->processes[index],
				      &crowd->queues[row->shared ? 0 : index],
				      &crowd->lines[(size_t)index * row->cores]);
	}
}

static void finish(struct crowd *crowd)
{
	free(crowd->queues);
	free(crowd->queue_cores);
	free(crowd->processes);
	free(crowd->lines);
	free(crowd->tasks);
	free(crowd->running);
	free(crowd->dispatched);
}

static void arrive(struct crowd *crowd, u32 number)
{
	const struct row *row = crowd->row;
	const struct shape *shape = &row->shapes[draw(crowd, row->shape_count)];
	struct ovt_sched_task *task = &crowd->tasks[number];

	task->process = &crowd->processes[number % row->queues];
	task->segments = shape->segments;
	task->segment_count = shape->count;
	task->priority = row->priorities ? draw(crowd, row->priorities) : 0;
	if (row->high && !draw(crowd, 10))
		task->priority = 255;
	task->core = row->any_core && !(number % 4) ? 0 : number % row->cores + 1;
	task->custom_id = row->random_ids ? (s64)draw(crowd, ~0u) - (1ll << 31) : 0;
	task->deadline = row->random_ids ? draw(crowd, ~0u) : 0;
	ovt_sched_arrive(&crowd->sched, task, crowd->now);
	count_call(crowd);
}

static u32 gaps_on(const struct crowd *crowd, const struct ovt_sched_queue *queue, u64 cores)
{
	u32 count = 0;
	u32 core;

	for (core = 0; core < crowd->row->cores; core++) {
		if (cores & (1ull << core))
			count += ovt_tree_size(&queue->cores[core].gaps.steady) +
				 ovt_tree_size(&queue->cores[core].gaps.falling);
	}
	return count;
}

/* A question takes some steps for each core, and one for each gap on the cores it names. */
static void ask(struct crowd *crowd)
{
	struct ovt_sched_task *task = &crowd->tasks[crowd->questions++ * 7919 % TASKS];
	const struct ovt_sched_queue *queue = task->process->queue;
	u64 before = crowd->sched.steps;
	struct ovt_sched_wait wait;
	u64 cores;
	u64 steps;

	ovt_sched_waits_for(&crowd->sched, task, crowd->now, &wait);
	steps = crowd->sched.steps - before;
	crowd->sched.steps = before;
	cores = (u64)__builtin_popcountll(wait.cores);
	assert_in_range(steps, 0, 8 + 6 * crowd->row->cores + gaps_on(crowd, queue, wait.cores));
	if (wait.type == OVT_SCHED_WAIT_SLOT)
		assert_in_range(steps, cores + gaps_on(crowd, queue, wait.cores), ~0ull);
}

static void go(struct crowd *crowd)
{
	struct ovt_sched_action action;
	bool acts;

	do {
		acts = ovt_sched_next(&crowd->sched, crowd->now, &action);
		count_call(crowd);
		if (acts)
			carry_out(crowd, &action);
	} while (acts);
	ask(crowd);
}

static void end_one(struct crowd *crowd)
{
	u32 index = draw(crowd, crowd->running_count);
	struct ovt_sched_task *task = crowd->running[index];
	struct ovt_sched_action action;
	bool acts;

	crowd->running[index] = crowd->running[--crowd->running_count];
	if (task->state == OVT_SCHED_BPU)
		crowd->unfinished[task->placed_core - 1]--;
	acts = ovt_sched_segment_ended(&crowd->sched, task, true, crowd->now, &action);
	count_call(crowd);
	if (acts)
		carry_out(crowd, &action);
}

static void cancel_one(struct crowd *crowd)
{
	struct ovt_sched_task *task = &crowd->tasks[draw(crowd, TASKS)];
	struct ovt_sched_action action;
	bool acts = ovt_sched_cancel(&crowd->sched, task, &action);

	count_call(crowd);
	if (acts)
		carry_out(crowd, &action);
}

/* Lets all tasks arrive before any may go, then ends one after another and cancels some. */
static void run(struct crowd *crowd, bool with_cancels)
{
	u32 number;

	for (number = 0; number < TASKS; number++)
		arrive(crowd, number);
	go(crowd);
	while (crowd->ended < TASKS) {
		assert_true(crowd->running_count > 0);
		crowd->now += draw(crowd, 20);
		end_one(crowd);
		if (with_cancels && !draw(crowd, 3))
			cancel_one(crowd);
		go(crowd);
	}
}

#define ONE(shape)	{ SHAPE(shape) }, 1
#define ALL		{ SHAPE(short_bpu), SHAPE(cpu_first), SHAPE(with_gap) }, 3

static const struct row rows[] = {
	{ "all alike", "priority", ONE(short_bpu), 1, 1, 8, 4, 1, 0, false, false, false, false },
	{ "random priorities and custom_ids", "priority", ONE(short_bpu), 1, 1, 8, 4, 1, 255, true,
	  false, false, false },
	{ "priority, all shapes", "priority", ALL, 2, 1, 8, 4, 1, 9, true, true, true, false },
	{ "fifo, all shapes", "fifo", ALL, 2, 1, 8, 4, 1, 9, true, true, true, false },
	{ "shortest, all shapes", "shortest", ALL, 2, 1, 8, 4, 1, 9, true, true, true, false },
	{ "deadline, all shapes", "deadline", ALL, 2, 1, 8, 4, 1, 9, true, true, true, false },
	{ "fifo, ready tasks behind a backlog", "fifo", { SHAPE(cpu_first), SHAPE(short_bpu) }, 2,
	  4, 1, 5, 2, 1, 0, false, false, false, false },
	{ "a queue for CPU workers", "priority", ONE(cpu_alone), 1, 1, TASKS, 2, 1, 9, true,
	  false, false, false },
	{ "all ready at once", "priority", ONE(cpu_first), 1, 1, TASKS, TASKS, 1, 9, true, false,
	  false, false },
	{ "many slots, all taken", "priority", ONE(short_bpu), 1, TASKS / 2, TASKS, 4, 1, 9, true,
	  false, false, false },
	{ "many slots, all in gaps", "priority", { SHAPE(with_gap), SHAPE(with_long_gap) }, 2, 1,
	  TASKS / 3, TASKS, TASKS, 1, 9, true, false, false, false },
	{ "many gaps that no worker has taken", "priority",
	  { SHAPE(with_gap), SHAPE(with_long_gap) }, 2, 1, TASKS / 3, TASKS, 3, 1, 9, true, false,
	  false, false },
	{ "64 cores", "priority", ALL, 64, 1, TASKS, 4, 1, 9, true, true, true, false },
	{ "64 cores, many slots and gaps", "priority",
	  { SHAPE(with_gap), SHAPE(with_long_gap), SHAPE(short_bpu) }, 3, 64, 500, TASKS, TASKS, 1,
	  9, true, true, false, false },
	{ "as many processes as tasks share a queue", "priority", ALL, 1, 1, 8, 1, TASKS, 9, true,
	  false, true, true },
	{ "processes share a queue with many places", "priority", ALL, 2, 2, 300, 1, 200, 9, true,
	  true, true, true },
	{ "processes share 64 cores", "shortest", ALL, 64, 1, 100, 4, 500, 9, true, true, true,
	  true },
	{ "many overdue at once", "priority", { SHAPE(cpu_first), SHAPE(with_gap) }, 2, 1, TASKS,
	  TASKS, TASKS, 3, 9, true, false, false, true },
	{ "as many queues as tasks", "priority", ALL, 1, 1, 8, 1, TASKS, 9, true, false, true, false },
};

static void steps_of_a_call_grow_with_the_logarithm(void **state)
{
	size_t index;

	(void)state;
	for (index = 0; index < COUNT(rows); index++) {
		const struct row *row = &rows[index];
		struct crowd crowd;

		start(&crowd, row);
		run(&crowd, true);
		print_message("%s: %llu steps in %llu calls, at most %llu in one\n",
			      row->description, (unsigned long long)crowd.steps,
			      (unsigned long long)crowd.calls, (unsigned long long)crowd.most);
		assert_in_range(crowd.steps, 1, crowd.calls * MEAN_STEPS(row->cores));
		assert_int_equal(crowd.overdue != 0, row->shared);
		finish(&crowd);
	}
}

static int by_the_contract(const void *left, const void *right)
{
	const struct ovt_sched_task *a = *(struct ovt_sched_task *const *)left;
	const struct ovt_sched_task *b = *(struct ovt_sched_task *const *)right;

	if (a->priority != b->priority)
		return a->priority > b->priority ? -1 : 1;
	if (a->custom_id != b->custom_id)
		return a->custom_id < b->custom_id ? -1 : 1;
	return a < b ? -1 : 1;		/* in order of arrival */
}

static void a_long_queue_is_served_in_order(void **state)
{
	static const struct row row = { "few custom_ids", "priority", ONE(short_bpu), 1, 1, 8, 4, 1,
					250, true, false, false, false };
	struct ovt_sched_task **sorted = calloc(TASKS, sizeof(struct ovt_sched_task *));
	struct crowd crowd;
	u32 index;

	(void)state;
	start(&crowd, &row);
	run(&crowd, false);
	for (index = 0; index < TASKS; index++)
		sorted[index] = &crowd.tasks[index];
	qsort(sorted, TASKS, sizeof(struct ovt_sched_task *), by_the_contract);
	assert_int_equal(crowd.dispatched_count, TASKS);
	for (index = 0; index < TASKS; index++)
		assert_ptr_equal(crowd.dispatched[index], sorted[index]);
	free(sorted);
	finish(&crowd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_of_a_call_grow_with_the_logarithm),
		cmocka_unit_test(a_long_queue_is_served_in_order),
	};

	return cmocka_run_group_tests_name("sched: scale", tests, NULL, NULL);
}
