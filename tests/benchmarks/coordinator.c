// SPDX-License-Identifier: MIT
/*
 * How long a decision of the coordinator takes this host: 200 tasks of eight units wait for four
 * processors, and a window of eight is planned.  Prints the median and the 99th percentile of calls
 * that dispatch a run, for each policy.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "sched/coord/coord.h"

#define TASKS		200u
#define PROCESSORS	4u
#define UNITS		8u
#define DECISIONS	20000u

struct bench {
	struct ovt_coord coord;
	struct ovt_coord_settings settings;
	struct ovt_coord_processor processors[PROCESSORS];
	u64 rates[PROCESSORS * PROCESSORS];
	struct ovt_coord_unit units[UNITS];
	u64 times[UNITS * PROCESSORS];
	struct ovt_coord_record records[PROCESSORS * (UNITS * (UNITS + 1) / 2 + 1)];
	struct ovt_coord_model model;
	struct ovt_coord_task tasks[TASKS];
	struct ovt_coord_run runs[TASKS * UNITS];
	struct ovt_coord_link links[TASKS * PROCESSORS];
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
	task->runs = &bench->runs[index * UNITS];
	task->links = &bench->links[index * PROCESSORS];
	ovt_coord_arrive(&bench->coord, task, bench->now);
}

static void begin(struct bench *bench, const struct ovt_coord_policy *policy)
{
	u32 index;

	memset(bench, 0, sizeof(*bench));
	bench->settings = (struct ovt_coord_settings){
		.policy = policy,
		.window = 8,
		.smoothing = 10,
		.retry_after = 1000,
	};
	for (index = 0; index < PROCESSORS; index++) {
		bench->processors[index].class_index = index;
		bench->processors[index].entry = index;
		bench->processors[index].depth = 2;
		bench->processors[index].workers = index == 3 ? 2 : 0;
	}
	for (index = 0; index < PROCESSORS * PROCESSORS; index++)
		bench->rates[index] = 10;
	for (index = 0; index < UNITS * PROCESSORS; index++)
		bench->times[index] = 10 + index % 7;
	for (index = 0; index < UNITS; index++) {
		bench->units[index].bytes = 40;
		bench->units[index].after = index ? 1ull << (index - 1) : 0;
	}
	bench->model = (struct ovt_coord_model){
		.units = bench->units,
		.unit_count = UNITS,
		.times = bench->times,
		.records = bench->records,
	};
	ovt_coord_init(&bench->coord, &bench->settings, bench->processors, PROCESSORS, PROCESSORS,
		       PROCESSORS, bench->rates);
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

		if (action.type == OVT_COORD_DISPATCH && bench->decisions < DECISIONS)
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
	for (index = 0; index < PROCESSORS; index++) {
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

int main(void)
{
	const struct ovt_coord_policy *policy;
	struct bench *bench = malloc(sizeof(*bench));
	u32 index;

	if (!bench)
		return 1;
	printf("a decision, window 8, 4 processors, 8 units   p50 us   p99 us\n");
	for (index = 0; (policy = ovt_coord_policy_at(index)); index++) {
		begin(bench, policy);
		while (bench->decisions < DECISIONS) {
			decide(bench);
			end_some(bench);
		}
		qsort(bench->taken, DECISIONS, sizeof(bench->taken[0]), compare);
		printf("%-44s %8.1f %8.1f\n", policy->name, (double)bench->taken[DECISIONS / 2] / 1000,
		       (double)bench->taken[DECISIONS - DECISIONS / 100] / 1000);
	}
	free(bench);
	return 0;
}
