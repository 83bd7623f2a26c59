// SPDX-License-Identifier: MIT
/*
 * 100,000 tasks wait for four processors: a call of the coordinator takes at most as many steps as
 * the plans of its window and some paths in trees need, whatever the policy.  The tests count
 * steps, and measure no time.
 */
#include <stdlib.h>

#include "cmocka_all.h"
#include "sched/coord/coord.h"

#ifdef __SANITIZE_ADDRESS__	/* ten times as slow, with the same steps */
#define TASKS		10000u
#define LOG2_OF_TASKS	14u	/* rounded up */
#else
#define TASKS		100000u
#define LOG2_OF_TASKS	17u	/* rounded up */
#endif
#define PROCESSORS	4u
#define UNITS		8u
#define WINDOW		8u
#define DECISIONS	2000u

/* Greatest number of steps of one plan; test_coord_plan.c counts them. */
#define PLAN_STEPS	(PROCESSORS * UNITS * (UNITS + 1) / 2 + PROCESSORS * PROCESSORS * UNITS + \
			 8 * PROCESSORS + UNITS)
/* A call plans each task of its window twice, sorts them, and changes trees. */
#define MOST_STEPS	(2 * WINDOW * PLAN_STEPS + WINDOW * WINDOW + 40 * LOG2_OF_TASKS)

struct crowd {
	struct ovt_coord coord;
	struct ovt_coord_settings settings;
	struct ovt_coord_processor processors[PROCESSORS];
	u64 rates[PROCESSORS * PROCESSORS];
	struct ovt_coord_unit units[UNITS];
	u64 times[UNITS * PROCESSORS];
	struct ovt_coord_record records[PROCESSORS * (UNITS * (UNITS + 1) / 2 + 1)];
	struct ovt_coord_model model;
	struct ovt_coord_task *tasks;
	struct ovt_coord_run *runs;
	struct ovt_coord_link *links;
	u64 now;
	u64 most;		/* greatest number of steps of a call */
	u32 decisions;
};

static struct crowd *make_crowd(const char *policy, enum ovt_coord_drop drop, u32 high_every)
{
	struct crowd *crowd = calloc(1, sizeof(*crowd));
	u32 index;

	crowd->tasks = calloc(TASKS, sizeof(*crowd->tasks));
	crowd->runs = calloc(TASKS * UNITS, sizeof(*crowd->runs));
	crowd->links = calloc(TASKS * PROCESSORS, sizeof(*crowd->links));
	crowd->settings = (struct ovt_coord_settings){
		.policy = ovt_coord_policy_find(policy),
		.window = WINDOW,
		.drop = drop,
		.smoothing = 10,
		.retry_after = 1000,
	};
	for (index = 0; index < PROCESSORS; index++) {
		crowd->processors[index].class_index = index;
		crowd->processors[index].entry = index;
		crowd->processors[index].depth = 1;
		crowd->processors[index].workers = index == 3 ? 2 : 0;
	}
	for (index = 0; index < PROCESSORS * PROCESSORS; index++)
		crowd->rates[index] = 10;
	for (index = 0; index < UNITS * PROCESSORS; index++)
		crowd->times[index] = 10 + index % 7;
	for (index = 0; index < UNITS; index++) {
		crowd->units[index].bytes = 40;
		crowd->units[index].after = index ? 1ull << (index - 1) : 0;
	}
	crowd->model = (struct ovt_coord_model){
		.units = crowd->units,
		.unit_count = UNITS,
		.times = crowd->times,
		.records = crowd->records,
	};
	ovt_coord_init(&crowd->coord, &crowd->settings, crowd->processors, PROCESSORS, PROCESSORS,
		       PROCESSORS, crowd->rates);
	ovt_coord_add_model(&crowd->coord, &crowd->model);
	for (index = 0; index < TASKS; index++) {
		struct ovt_coord_task *task = &crowd->tasks[index];

		task->model = &crowd->model;
		task->priority = high_every && index % high_every == 0 ? 255 : index % 200;
		task->custom_id = index % 13;
		task->deadline = drop == OVT_COORD_DROP_NEVER ? OVT_COORD_NEVER :
								1000000 + index % 1000;
		task->runs = &crowd->runs[index * UNITS];
		task->links = &crowd->links[index * PROCESSORS];
		ovt_coord_arrive(&crowd->coord, task, 0);
	}
	return crowd;
}

static void free_crowd(struct crowd *crowd)
{
	free(crowd->tasks);
	free(crowd->runs);
	free(crowd->links);
	free(crowd);
}

/* Takes all decisions that are possible now, and notes the steps of the longest call. */
static void decide(struct crowd *crowd)
{
	struct ovt_coord_action action;
	bool more;

	do {
		u64 before = crowd->coord.steps;
		u64 steps;

		more = ovt_coord_next(&crowd->coord, crowd->now, &action);
		steps = crowd->coord.steps - before;
		if (steps > crowd->most)
			crowd->most = steps;
		crowd->decisions += more;
	} while (more);
}

/* Ends the oldest run of each processor, which has executed for its expected time. */
static void end_some(struct crowd *crowd)
{
	u32 index;

	crowd->now += 100;
	for (index = 0; index < PROCESSORS; index++) {
		struct ovt_coord_run *run = ovt_coord_first_run(&crowd->coord, index);
		struct ovt_coord_end end = { .status = OVT_COORD_DONE, .started = true };

		if (!run)
			continue;
		end.executed = run->expected;
		ovt_coord_run_ended(&crowd->coord, run, &end, crowd->now);
	}
}

static void test_policies_take_as_many_steps_as_a_window(void **state)
{
	u32 index;

	(void)state;
	for (index = 0; ovt_coord_policy_at(index); index++) {
		const struct ovt_coord_policy *policy = ovt_coord_policy_at(index);
		struct crowd *crowd;

		crowd = make_crowd(policy->name, OVT_COORD_DROP_PREDICTED, 50);
		while (crowd->decisions < DECISIONS) {
			decide(crowd);
			end_some(crowd);
		}
		assert_in_range(crowd->most, 1, MOST_STEPS);
		free_crowd(crowd);
	}
}

/* The deadlines of all tasks have passed: each call drops one of them. */
static void test_late_tasks_are_dropped_one_by_one(void **state)
{
	struct crowd *crowd = make_crowd("priority", OVT_COORD_DROP_LATE, 0);
	struct ovt_coord_action action;
	u32 dropped = 0;

	(void)state;
	crowd->now = 1000999;
	while (ovt_coord_next(&crowd->coord, crowd->now, &action)) {
		assert_int_equal(action.type, OVT_COORD_END);
		assert_int_equal(action.task->status, OVT_COORD_DROPPED);
		assert_ptr_equal(action.task, &crowd->tasks[dropped]); /* in order of arrival */
		dropped++;
	}
	assert_int_equal(dropped, TASKS);
	free_crowd(crowd);
}

/* Only a failed processor can run the model: its tasks wait apart and delay no call. */
static void test_tasks_without_a_plan_stand_apart(void **state)
{
	struct crowd *crowd = make_crowd("priority", OVT_COORD_DROP_NEVER, 0);
	u32 unit;

	(void)state;
	for (unit = 0; unit < UNITS; unit++)
		crowd->model.processors[unit] = 1;
	ovt_coord_fail(&crowd->coord, 0, 0);
	crowd->most = 0;
	decide(crowd);
	assert_in_range(crowd->most, 0, MOST_STEPS);
	assert_int_equal(crowd->decisions, 0);
	ovt_coord_trial_ended(&crowd->coord, 0, true, 5000);
	decide(crowd);
	assert_int_equal(crowd->decisions, 1);
	free_crowd(crowd);
}

/* Failed runs are reported in the order in which they were dispatched. */
static void test_runs_of_a_processor_are_found_in_order(void **state)
{
	struct crowd *crowd = make_crowd("shortest-latency", OVT_COORD_DROP_NEVER, 0);
	struct ovt_coord_end end = { .status = OVT_COORD_FAILED };
	struct ovt_coord_run *run;
	u64 before = 0;
	u32 count = 0;

	(void)state;
	crowd->settings.window = 1;
	decide(crowd);
	ovt_coord_fail(&crowd->coord, 3, 0);
	while ((run = ovt_coord_first_run(&crowd->coord, 3))) {
		assert_true(run->dispatch_sequence > before);
		before = run->dispatch_sequence;
		ovt_coord_run_ended(&crowd->coord, run, &end, 0);
		count++;
	}
	assert_true(count > 2);
	free_crowd(crowd);
}

/* A fault of the program ends its task.  The processor does not count as failed. */
static void test_a_fault_ends_its_task(void **state)
{
	struct crowd *crowd = make_crowd("priority", OVT_COORD_DROP_NEVER, 0);
	struct ovt_coord_end end = { .status = OVT_COORD_FAILED, .fault = true, .started = true };
	struct ovt_coord_action action;
	struct ovt_coord_run *run;
	struct ovt_coord_task *task;

	(void)state;
	decide(crowd);
	run = ovt_coord_first_run(&crowd->coord, 0);
	task = run->task;
	ovt_coord_run_ended(&crowd->coord, run, &end, 5);
	assert_true(ovt_coord_left_to_do(&crowd->coord, &action));
	assert_int_equal(action.type, OVT_COORD_END);
	assert_ptr_equal(action.task, task);
	assert_int_equal(task->status, OVT_COORD_FAILED);
	assert_int_equal(task->retries, 0);
	assert_true(crowd->processors[0].in_use);
	free_crowd(crowd);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_policies_take_as_many_steps_as_a_window),
		cmocka_unit_test(test_late_tasks_are_dropped_one_by_one),
		cmocka_unit_test(test_tasks_without_a_plan_stand_apart),
		cmocka_unit_test(test_runs_of_a_processor_are_found_in_order),
		cmocka_unit_test(test_a_fault_ends_its_task),
	};

	return cmocka_run_group_tests_name("coord_scale", tests, NULL, NULL);
}
