// SPDX-License-Identifier: MIT
/* Tasks that take several cores at once: slots, bars and gaps on each of them. */
#include "cmocka_all.h"
#include "sched_host.h"

#define CORES	3

struct fixture {
	struct ovt_sched sched;
	struct ovt_sched_queue queue;
	struct ovt_sched_queue_core queue_cores[CORES];
	struct ovt_sched_process process;
	struct ovt_sched_line lines[CORES];
	struct ovt_sched_action action;
};

struct task {
	struct ovt_sched_task sched;
	struct ovt_sched_span span;
	struct ovt_sched_gap gaps[CORES];
	struct ovt_sched_segment segments[3];
};

static void start(struct fixture *fixture)
{
	struct ovt_sched_settings settings;

	ovt_sched_settings_init(&settings, false);
	settings.insert_max_time = 0;
	settings.threshold_percent = 0;
	settings.wait_dispatch_time = 1000000;
	ovt_sched_init(&fixture->sched, CORES, &settings);
	ovt_sched_add_queue(&fixture->sched, &fixture->queue, fixture->queue_cores);
	ovt_sched_add_process(&fixture->sched, &fixture->process, &fixture->queue, fixture->lines);
}

/* Makes a BPU segment, and if @cpu is not 0 a gap of that length and a second BPU segment. */
static void arrive(struct fixture *fixture, struct task *task, u32 width, u32 priority, u32 core,
		   u64 bpu, u64 cpu)
{
	memset(task, 0x5a, sizeof(*task));
	task->segments[0] = (struct ovt_sched_segment){ bpu, 1 };
	task->segments[1] = (struct ovt_sched_segment){ cpu, 0 };
	task->segments[2] = (struct ovt_sched_segment){ bpu, 1 };
	task->span.width = width;
	task->span.gaps = task->gaps;
	task->sched.process = &fixture->process;
	task->sched.segments = task->segments;
	task->sched.segment_count = cpu ? 3 : 1;
	task->sched.priority = priority;
	task->sched.core = core;
	task->sched.span = width > 1 ? &task->span : NULL;
	task->sched.custom_id = 0;
	task->sched.deadline = ~0ull;
	ovt_sched_arrive(&fixture->sched, &task->sched, 0);
}

static bool next(struct fixture *fixture, u64 now)
{
	return ovt_sched_next(&fixture->sched, now, &fixture->action);
}

static void expect_submit(struct fixture *fixture, struct task *task, u64 cores, u64 now)
{
	assert_true(next(fixture, now));
	assert_int_equal(fixture->action.type, OVT_SCHED_SUBMIT);
	assert_ptr_equal(fixture->action.task, &task->sched);
	assert_int_equal(fixture->action.cores, cores);
}

static void end(struct fixture *fixture, struct task *task, u64 now)
{
	ovt_sched_segment_ended(&fixture->sched, &task->sched, true, now, &fixture->action);
}

static void it_waits_for_a_slot_on_each_and_bars_all_cores(void **state)
{
	struct fixture fixture;
	struct task first, second, wide, behind;

	(void)state;
	start(&fixture);
	arrive(&fixture, &first, 1, 10, 1, 50, 0);
	arrive(&fixture, &second, 1, 10, 2, 50, 0);
	expect_submit(&fixture, &first, 1, 0);
	expect_submit(&fixture, &second, 2, 0);
	arrive(&fixture, &wide, 2, 9, 0, 50, 0);
	arrive(&fixture, &behind, 1, 8, 3, 50, 0);
	assert_false(next(&fixture, 0));	/* @wide needs two cores, and bars core 3 */
	end(&fixture, &first, 50);
	expect_submit(&fixture, &wide, 5, 50);
	assert_int_equal(fixture.action.core, 0);
	ovt_sched_placed_on(&fixture.sched, &wide.sched, 3, 5);
	assert_int_equal(wide.sched.placed_core, 3);
	assert_false(next(&fixture, 50));	/* core 3 is taken */
	end(&fixture, &wide, 100);
	expect_submit(&fixture, &behind, 4, 100);
}

static void others_are_inserted_into_its_gap_on_each_of_its_cores(void **state)
{
	struct fixture fixture;
	struct task wide, other, again, too_long;

	(void)state;
	start(&fixture);
	arrive(&fixture, &wide, 2, 10, 0, 50, 100);
	expect_submit(&fixture, &wide, 7, 0);
	ovt_sched_placed_on(&fixture.sched, &wide.sched, 1, 3);
	end(&fixture, &wide, 50);
	assert_true(next(&fixture, 50));
	assert_int_equal(fixture.action.type, OVT_SCHED_RUN_CPU);
	arrive(&fixture, &other, 1, 9, 2, 60, 0);
	arrive(&fixture, &too_long, 1, 8, 1, 120, 0);
	expect_submit(&fixture, &other, 2, 60);
	assert_false(next(&fixture, 60));
	arrive(&fixture, &again, 1, 9, 1, 60, 0);
	expect_submit(&fixture, &again, 1, 60);
	end(&fixture, &wide, 150);		/* its second BPU segment */
	assert_int_equal(fixture.action.core, 1);
	end(&fixture, &other, 160);
	end(&fixture, &again, 160);
	assert_false(next(&fixture, 160));
	end(&fixture, &wide, 200);
	expect_submit(&fixture, &too_long, 1, 200);
	assert_int_equal(fixture.queue_cores[0].holders + fixture.queue_cores[1].holders, 1);
}

/* Makes @wide overdue in its gap at 150; then it waits for the cores that it has had. */
static void make_overdue(struct fixture *fixture, struct task *wide, u64 cores, u32 first)
{
	fixture->sched.settings.overdue_min_time = 50;
	fixture->sched.settings.overdue_factor = 1;
	fixture->sched.settings.slots = 1;
	arrive(fixture, wide, 2, 10, 0, 50, 100);
	expect_submit(fixture, wide, 7, 0);
	ovt_sched_placed_on(&fixture->sched, &wide->sched, first, cores);
	end(fixture, wide, 50);
	assert_true(next(fixture, 50));
	assert_int_equal(fixture->action.type, OVT_SCHED_RUN_CPU);
	assert_false(next(fixture, 149));
	assert_true(next(fixture, 150));
	assert_int_equal(fixture->action.type, OVT_SCHED_OVERDUE);
}

static void once_overdue_it_bars_each_of_its_own_cores_and_no_other(void **state)
{
	struct fixture fixture;
	struct task wide, first, second, behind_first, behind_second, third;

	(void)state;
	start(&fixture);
	make_overdue(&fixture, &wide, 3, 1);
	arrive(&fixture, &first, 1, 9, 1, 500, 0);
	arrive(&fixture, &second, 1, 9, 2, 500, 0);
	expect_submit(&fixture, &first, 1, 150);
	expect_submit(&fixture, &second, 2, 150);
	end(&fixture, &wide, 200);		/* its CPU segment */
	arrive(&fixture, &behind_first, 1, 8, 1, 50, 0);
	arrive(&fixture, &behind_second, 1, 8, 2, 50, 0);
	arrive(&fixture, &third, 1, 8, 3, 50, 0);
	expect_submit(&fixture, &third, 4, 200);	/* it has never had core 3 */
	end(&fixture, &second, 300);
	assert_false(next(&fixture, 300));	/* behind_second does not pass it on core 2 */
	end(&fixture, &first, 400);
	expect_submit(&fixture, &wide, 1, 400);
	assert_int_equal(wide.sched.placed_core, 1);
	assert_int_equal(fixture.queue_cores[0].holders + fixture.queue_cores[1].holders, 2);
	assert_false(next(&fixture, 400));
	end(&fixture, &wide, 450);
	expect_submit(&fixture, &behind_first, 1, 450);
	expect_submit(&fixture, &behind_second, 2, 450);
}

static void a_better_placed_task_for_one_of_its_cores_bars_it_there(void **state)
{
	struct fixture fixture;
	struct task wide, holder, better, behind;

	(void)state;
	start(&fixture);
	make_overdue(&fixture, &wide, 5, 3);
	arrive(&fixture, &holder, 1, 20, 1, 50, 200);
	expect_submit(&fixture, &holder, 1, 150);
	end(&fixture, &holder, 160);
	assert_true(next(&fixture, 160));
	assert_int_equal(fixture.action.type, OVT_SCHED_RUN_CPU);
	end(&fixture, &wide, 170);		/* its CPU segment */
	arrive(&fixture, &better, 1, 11, 1, 500, 0);	/* too long for the gap, which @wide fits */
	arrive(&fixture, &behind, 1, 9, 3, 50, 0);
	assert_false(next(&fixture, 170));	/* and @wide bars core 3 */
	ovt_sched_cancel(&fixture.sched, &better.sched, &fixture.action);
	expect_submit(&fixture, &wide, 4, 170);
	assert_int_equal(wide.sched.placed_core, 3);
	end(&fixture, &wide, 220);
	expect_submit(&fixture, &behind, 4, 220);
}

static void what_bars_an_overdue_one_goes_when_it_has_been_cancelled(void **state)
{
	struct fixture fixture;
	struct task wide, first, second, behind;

	(void)state;
	start(&fixture);
	make_overdue(&fixture, &wide, 6, 2);
	arrive(&fixture, &first, 1, 9, 2, 500, 0);
	expect_submit(&fixture, &first, 2, 150);
	end(&fixture, &wide, 200);		/* its CPU segment */
	arrive(&fixture, &second, 1, 8, 3, 50, 0);
	arrive(&fixture, &behind, 2, 7, 0, 50, 0);
	assert_false(next(&fixture, 200));
	assert_true(ovt_sched_cancel(&fixture.sched, &wide.sched, &fixture.action));
	assert_int_equal(fixture.action.type, OVT_SCHED_END);
	expect_submit(&fixture, &second, 4, 200);
	assert_false(next(&fixture, 200));
	assert_int_equal(fixture.queue.cores_ready, 0);
}

static void a_task_of_255_takes_the_cores_that_it_is_given_and_no_slots(void **state)
{
	struct fixture fixture;
	struct task wide;

	(void)state;
	start(&fixture);
	arrive(&fixture, &wide, 3, 255, 0, 50, 100);
	expect_submit(&fixture, &wide, 7, 0);
	ovt_sched_placed_on(&fixture.sched, &wide.sched, 2, 7);
	assert_int_equal(fixture.queue_cores[1].holders, 0);
	end(&fixture, &wide, 50);
	assert_true(next(&fixture, 50));
	end(&fixture, &wide, 150);
	assert_int_equal(fixture.action.type, OVT_SCHED_SUBMIT);
	assert_int_equal(fixture.action.core, 2);
	end(&fixture, &wide, 200);
	assert_int_equal(fixture.action.type, OVT_SCHED_END);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_waits_for_a_slot_on_each_and_bars_all_cores),
		cmocka_unit_test(others_are_inserted_into_its_gap_on_each_of_its_cores),
		cmocka_unit_test(once_overdue_it_bars_each_of_its_own_cores_and_no_other),
		cmocka_unit_test(a_better_placed_task_for_one_of_its_cores_bars_it_there),
		cmocka_unit_test(what_bars_an_overdue_one_goes_when_it_has_been_cancelled),
		cmocka_unit_test(a_task_of_255_takes_the_cores_that_it_is_given_and_no_slots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
