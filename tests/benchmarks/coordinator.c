// SPDX-License-Identifier: MIT
/*
 * How long a decision of the coordinator takes this host: 200 tasks of eight units wait for four
 * processors, with a window of eight.  Prints the median and the 99th percentile of calls
 * that dispatch a run, for each policy.  Then the same at the limits: 64 processors of 64 classes,
 * 64 units, and a window of 64.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "sched/coord/coord.h"

#define TASKS		200u
#define DECISIONS	20000u
#define MOST		64u	/* processors, and units */

struct shape {
	u32 processors;
	u32 units;
	u32 window;
	u32 decisions;
};

struct bench {
	struct ovt_coord coord;
	struct ovt_coord_settings settings;
	struct shape shape;
	struct ovt_coord_processor processors[MOST];
	u64 rates[MOST * MOST];
	struct ovt_coord_unit units[MOST];
	u64 times[MOST * MOST];
	struct ovt_coord_record records[MOST * (MOST * (MOST + 1) / 2 + 1)];
	struct ovt_coord_model model;
	struct ovt_coord_task tasks[TASKS];
	struct ovt_coord_run runs[TASKS * MOST];
	struct ovt_coord_link links[TASKS * MOST];
	u64 now;
	u64 taken[DECISIONS];
	u32 decisions;
};

static u64 clock_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (u64)time.tv_sec * 1000000000ull + (u64)time.tv_nsec;
}

static void arrive(struct bench *bench, u32 index)
{
	struct ovt_coord_task *task = &bench->tasks[index];

	memset(task, 0, sizeof(*task));
	task->model = &bench->model;
	task->priority = index % 200;
	task->deadline = bench->now + 1000 + index;
	task->runs = &bench->runs[index * MOST];
	task->links = &bench->links[index * MOST];
	ovt_coord_arrive(&bench->coord, task, bench->now);
}

static void begin(struct bench *bench, const struct ovt_coord_policy *policy,
		  const struct shape *shape)
{
	u32 index;

	memset(bench, 0, sizeof(*bench));
	bench->shape = *shape;
	bench->settings = (struct ovt_coord_settings){
		.policy = policy,
		.window = shape->window,
		.smoothing = 10,
		.retry_after = 1000,
	};
	for (index = 0; index < shape->processors; index++) {
		bench->processors[index].class_index = index;
		bench->processors[index].entry = index;
		bench->processors[index].depth = 2;
		bench->processors[index].workers = index == 3 ? 2 : 0;
	}
	for (index = 0; index < shape->processors * shape->processors; index++)
		bench->rates[index] = 10;
	for (index = 0; index < shape->units * shape->processors; index++)
		bench->times[index] = 10 + index % 7;
	for (index = 0; index < shape->units; index++) {
		bench->units[index].bytes = 40;
		bench->units[index].after = index ? 1ull << (index - 1) : 0;
	}
	bench->model = (struct ovt_coord_model){
		.units = bench->units,
		.unit_count = shape->units,
		.times = bench->times,
		.records = bench->records,
	};
	ovt_coord_init(&bench->coord, &bench->settings, bench->processors, shape->processors,
		       shape->processors, shape->processors, bench->rates);
	ovt_coord_add_model(&bench->coord, &bench->model);
	for (index = 0; index < TASKS; index++)
		arrive(bench, index);
}

static void decide(struct bench *bench)
{
	struct ovt_coord_action action;
	u64 before = clock_ns();

	while (ovt_coord_next(&bench->coord, bench->now, &action)) {
		u64 taken = clock_ns() - before;

		if (action.type == OVT_COORD_DISPATCH && bench->decisions < bench->shape.decisions)
			bench->taken[bench->decisions++] = taken;
		if (action.type == OVT_COORD_END)
			arrive(bench, (u32)(action.task - bench->tasks));
		before = clock_ns();
	}
}

static void end_some(struct bench *bench)
{
	u32 index;

	bench->now += 10;
	for (index = 0; index < bench->shape.processors; index++) {
		struct ovt_coord_run *run = ovt_coord_first_run(&bench->coord, index);
		struct ovt_coord_end end = { .status = OVT_COORD_DONE, .started = true };

		if (!run)
			continue;
		end.executed = run->expected;
		ovt_coord_run_ended(&bench->coord, run, &end, bench->now);
	}
}

static int compare(const void *a, const void *b)
{
	u64 first = *(const u64 *)a;
	u64 second = *(const u64 *)b;

	return first < second ? -1 : first > second;
}

static void print_policies(struct bench *bench, const struct shape *shape)
{
	const struct ovt_coord_policy *policy;
	u32 index;

	printf("a decision, window %u, %u processors, %u units   p50 us   p99 us\n", shape->window,
	       shape->processors, shape->units);
	for (index = 0; (policy = ovt_coord_policy_at(index)); index++) {
		begin(bench, policy, shape);
		while (bench->decisions < shape->decisions) {
			decide(bench);
			end_some(bench);
		}
		qsort(bench->taken, shape->decisions, sizeof(bench->taken[0]), compare);
		printf("%-44s %8.1f %8.1f\n", policy->name,
		       (double)bench->taken[shape->decisions / 2] / 1000,
		       (double)bench->taken[shape->decisions - 1 - shape->decisions / 100] / 1000);
	}
}

int main(void)
{
	static const struct shape usual = { 4, 8, 8, DECISIONS };
	static const struct shape limits = { MOST, MOST, 64, 40 };
	struct bench *bench = malloc(sizeof(*bench));

	if (!bench)
		return 1;
	print_policies(bench, &usual);
	print_policies(bench, &limits);
	free(bench);
	return 0;
}
