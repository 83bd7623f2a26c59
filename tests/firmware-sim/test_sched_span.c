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

/* BPU, and if @cpu is not 0 a gap of that length and BPU again. */
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
	assert_false(next(&fixture, 0));	/* core 3 alone will not do, and is barred */
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
		cmocka_unit_test(a_task_of_255_takes_the_cores_that_it_is_given_and_no_slots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
