// SPDX-License-Identifier: MIT
/*
 * The freedom of a coordinator's host: any content of the memory of tasks, data that it leaves out,
 * and numbers of any size.
 */
#include "cmocka_all.h"
#include "sched/coord/internal.h"

#define PROCESSORS	2u
#define UNITS		2u

struct host {
	struct ovt_coord coord;
	struct ovt_coord_settings settings;
	struct ovt_coord_processor processors[PROCESSORS];
	u64 rates[PROCESSORS * PROCESSORS];
	struct ovt_coord_unit units[UNITS];
	u64 times[UNITS];
	u64 measured[1];
	struct ovt_coord_record records[UNITS * (UNITS + 1) / 2 + 1];
	struct ovt_coord_model model;
	struct ovt_coord_task tasks[3];
	struct ovt_coord_run runs[3][UNITS];
};

/* Makes two cores of one class, and a model of two units that take 10 each. */
static void begin(struct host *host)
{
	memset(host, 0, sizeof(*host));
	host->settings = (struct ovt_coord_settings){
		.policy = ovt_coord_policy_at(0),
		.window = 8,
		.smoothing = 10,
		.retry_after = 1000,
	};
	host->processors[0].depth = host->processors[1].depth = 1;
	host->processors[1].entry = 1;
	host->units[1].after = 1;
	host->times[0] = host->times[1] = 10;
	host->model = (struct ovt_coord_model){
		.units = host->units,
		.unit_count = UNITS,
		.times = host->times,
		.records = host->records,
	};
}

static void add_model(struct host *host, u32 processors)
{
	ovt_coord_init(&host->coord, &host->settings, host->processors, processors, PROCESSORS, 1,
		       host->rates);
	ovt_coord_add_model(&host->coord, &host->model);
}

/* Lets a task arrive whose memory held other data. */
static struct ovt_coord_task *arrive(struct host *host, u32 index, u32 priority, u64 now)
{
	struct ovt_coord_task *task = &host->tasks[index];

	memset(task, 0xa5, sizeof(*task));
	memset(host->runs[index], 0xa5, sizeof(host->runs[index]));
	task->model = &host->model;
	task->priority = priority;
	task->custom_id = 0;
	task->on = 0;
	task->barred = 0;
	task->deadline = OVT_COORD_NEVER;
	task->runs = host->runs[index];
	task->links = NULL;
	ovt_coord_arrive(&host->coord, task, now);
	return task;
}

static struct ovt_coord_run *expect_dispatch(struct host *host, u64 now)
{
	struct ovt_coord_action action;

	assert_true(ovt_coord_next(&host->coord, now, &action));
	assert_int_equal(action.type, OVT_COORD_DISPATCH);
	return action.run;
}

static void test_memory_of_a_task_may_have_anything_in_it(void **state)
{
	static struct host host;
	struct ovt_coord_action action;
	struct ovt_coord_end end = { .status = OVT_COORD_DONE, .started = true, .executed = 20 };
	struct ovt_coord_task *task;
	struct ovt_coord_run *run;

	(void)state;
	begin(&host);
	add_model(&host, 1);
	task = arrive(&host, 0, 0, 5);
	run = expect_dispatch(&host, 5);
	assert_ptr_equal(run, &task->runs[0]);
	assert_int_equal(run->number, 0);
	assert_int_equal(run->units, 3);
	assert_int_equal(task->unfinished_runs, 1);
	assert_int_equal(task->dispatch_time, 5);
	assert_int_equal(task->retries, 0);
	assert_false(ovt_coord_next(&host.coord, 5, &action));
	assert_int_equal(ovt_coord_run_ended(&host.coord, run, &end, 25), OVT_COORD_DONE);
	assert_true(ovt_coord_next(&host.coord, 25, &action));
	assert_int_equal(action.type, OVT_COORD_END);
	assert_ptr_equal(action.task, task);
	assert_int_equal(task->status, OVT_COORD_DONE);
}

/* A host need not say how long FCs are: then a run that has begun delays no task of 255. */
static void test_longest_fcs_may_be_left_out(void **state)
{
	static struct host host;
	struct ovt_coord_run *run;

	(void)state;
	begin(&host);
	host.processors[0].core_limit = 1;
	add_model(&host, 1);
	arrive(&host, 0, 0, 0);
	run = expect_dispatch(&host, 0);
	assert_int_equal(run->due, 20);
	arrive(&host, 1, OVT_COORD_PRIORITY_HIGH, 1);
	run = expect_dispatch(&host, 1);
	assert_ptr_equal(run->task, &host.tasks[1]);
	assert_int_equal(run->due, 21);
}

/* A measured time is scaled exactly though a remainder needs all 64 bits. */
static void test_costs_may_be_as_large_as_can_be(void **state)
{
	static struct host host;

	(void)state;
	begin(&host);
	host.units[1].after = 0;
	host.units[0].ops = (1ull << 63) + 2;
	host.units[1].ops = (1ull << 63) + 1;
	host.measured[0] = 1000;
	host.model.measured = host.measured;
	add_model(&host, 1);
	assert_int_equal(ovt_coord_record_of(&host.model, 0, 0, 0, 0)->time, 1000);
	assert_int_equal(ovt_coord_record_of(&host.model, 0, 1, 0, 0)->time, 1000);
	host.units[1].ops = 1ull << 62;
	add_model(&host, 1);
	assert_int_equal(ovt_coord_record_of(&host.model, 0, 1, 0, 0)->time, 500);
}

/* A measured time is ignored if it cannot be scaled, since the largest piece costs nothing. */
static void test_measured_times_need_a_cost(void **state)
{
	static struct host host;

	(void)state;
	begin(&host);
	host.measured[0] = 1000;
	host.model.measured = host.measured;
	add_model(&host, 1);
	assert_int_equal(ovt_coord_record_of(&host.model, 0, 0, 0, 1)->time, 20);
}

/* The host sets the record of a piece before the first run, which is smoothed into it. */
static void test_records_may_come_from_before(void **state)
{
	static struct host host;
	const struct ovt_coord_end end = { .status = OVT_COORD_DONE, .started = true, .executed = 60 };
	struct ovt_coord_action action;

	(void)state;
	begin(&host);
	add_model(&host, 1);
	assert_true(ovt_coord_set_record(&host.model, 0, 3, 50));
	assert_int_equal(ovt_coord_record_of(&host.model, 0, 0, 0, 1)->time, 50);
	assert_true(ovt_coord_set_record(&host.model, 0, 1, 70));
	assert_true(ovt_coord_set_record(&host.model, 0, 2, 80));
	assert_int_equal(ovt_coord_record_of(&host.model, 0, 0, 1, 1)->time, 80);
	host.tasks[0] = (struct ovt_coord_task){
		.model = &host.model,
		.deadline = OVT_COORD_NEVER,
		.runs = host.runs[0],
	};
	ovt_coord_arrive(&host.coord, &host.tasks[0], 0);
	assert_true(ovt_coord_next(&host.coord, 0, &action));
	assert_int_equal(action.run->units, 3);
	assert_int_equal(action.run->expected, 50);
	ovt_coord_run_ended(&host.coord, action.run, &end, 60);
	assert_int_equal(ovt_coord_record_of(&host.model, 0, 0, 0, 1)->time, 51);
}

static void test_records_are_of_pieces_that_the_class_can_run(void **state)
{
	static struct host host;

	(void)state;
	begin(&host);
	add_model(&host, 1);
	assert_false(ovt_coord_set_record(&host.model, 0, 0, 50));
	assert_false(ovt_coord_set_record(&host.model, 0, 4, 50));
	assert_false(ovt_coord_set_record(&host.model, 0, 7, 50));
	host.units[1].after = 0; /* two chains; all units are one piece under round-robin */
	add_model(&host, 1);
	assert_true(ovt_coord_set_record(&host.model, 0, 2, 40));
	assert_true(ovt_coord_set_record(&host.model, 0, 3, 50));
	assert_int_equal(ovt_coord_record_of(&host.model, 0, OVT_COORD_WHOLE, 0, 1)->time, 50);
	assert_int_equal(ovt_coord_record_of(&host.model, 0, 1, 0, 0)->time, 40);
	host.times[1] = 0;
	add_model(&host, 1);
	assert_false(ovt_coord_set_record(&host.model, 0, 2, 50));
	assert_false(ovt_coord_set_record(&host.model, 0, 3, 50));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory_of_a_task_may_have_anything_in_it),
		cmocka_unit_test(test_longest_fcs_may_be_left_out),
		cmocka_unit_test(test_costs_may_be_as_large_as_can_be),
		cmocka_unit_test(test_measured_times_need_a_cost),
		cmocka_unit_test(test_records_may_come_from_before),
		cmocka_unit_test(test_records_are_of_pieces_that_the_class_can_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
