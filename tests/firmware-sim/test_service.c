// SPDX-License-Identifier: MIT
/* The task tables of service mode. */
#include "service_bench.h"

static void a_task_goes_through_its_segments(void **state)
{
	struct test_task *a = submit(0, 'a', "bcb", 5, 100);

	(void)state;
	expect("a+");
	settles(100, "a* a0>1");
	job_ends(a, 0, 30);
	settles(130, "!0");
	assert_int_equal(a->results[1].start_ns, 130);
	assert_int_equal(a->results[1].queued_ns, 130);
	told(0, 'a');
	nothing_to_tell(0);
	assert_int_equal(ovt_service_cpu_done(&a->service, 1, 0, 150), 0);
	assert_int_equal(a->results[1].end_ns, 150);
	assert_int_equal(a->results[1].executed_ns, 20);
	settles(150, "a2>1");
	job_ends(a, 0, 30);
	settles(180, "a. !0");
	assert_int_equal(a->service.status, 0);
	assert_int_equal(a->service.end_time, 180);
	assert_ptr_equal(ovt_service_find(&bench->processes[0], 'a'), &a->service);
	told(0, 'a');
	assert_null(ovt_service_find(&bench->processes[0], 'a'));
	assert_true(ovt_service_is_idle(&bench->processes[0]));
	assert_int_equal(bench->processes[0].ended, 1);
	assert_int_equal(bench->processes[0].waited_ns, 0);
}

/* After its leading CPU segment, @b waits for the slot of @a. */
static void watchers_hear_of_every_step(void **state)
{
	struct test_task *a, *b;

	(void)state;
	bench->says_all = true;
	a = submit(0, 'a', "b", 5, 0);
	b = submit(0, 'b', "cbc", 5, 0);
	settles(0, "a+ b+ a* a0>1 b* b( !0");
	told(0, 'b');
	assert_int_equal(ovt_service_cpu_done(&b->service, 0, 0, 3), 0);
	settles(3, "b) b=");
	job_ends(a, 0, 30);
	settles(30, "a. !0 b1>1");
	told(0, 'a');
	job_ends(b, 0, 30);
	settles(60, "b( !0");
	told(0, 'b');
	assert_int_equal(ovt_service_cpu_done(&b->service, 2, -EIO, 70), 0);
	expect("b)");
	assert_int_equal(b->service.status, -EIO);
	settles(70, "b. !0");
	told(0, 'b');
}

static void waiting_is_counted(void **state)
{
	struct test_task *a = submit(0, 'a', "b", 5, 0);

	(void)state;
	submit(1, 'b', "b", 5, 10);
	ovt_service_settle(&bench->service, 10);
	job_ends(a, 0, 30);
	ovt_service_settle(&bench->service, 70);
	assert_int_equal(bench->processes[0].waited_ns, 10);
	assert_int_equal(bench->processes[1].waited_ns, 60);
}

static void a_report_is_taken_once_and_when_it_is_asked_for(void **state)
{
	struct test_task *a = submit(0, 'a', "ccb", 5, 0);

	(void)state;
	assert_int_equal(ovt_service_cpu_done(&a->service, 0, 0, 0), -EINVAL); /* waits */
	settles(0, "a+ a* !0");
	assert_int_equal(ovt_service_cpu_done(&a->service, 0, 0, 1), -EINVAL); /* not told */
	told(0, 'a');
	assert_int_equal(ovt_service_cpu_done(&a->service, 1, 0, 1), -EINVAL);
	assert_int_equal(ovt_service_cpu_done(&a->service, 0, 0, 1), 0);
	assert_int_equal(ovt_service_cpu_done(&a->service, 0, 0, 1), -EINVAL); /* twice */
	settles(1, "!0");
	told(0, 'a');
	assert_int_equal(ovt_service_cpu_done(&a->service, 1, -EIO, 2), 0);
	settles(2, "a. !0");
	assert_int_equal(a->service.status, -EIO);
	assert_int_equal(a->results[1].status, -EIO);
	assert_int_equal(ovt_service_cpu_done(&a->service, 1, 0, 3), -EINVAL); /* over */
}

static void times_are_measured_and_not_believed(void **state)
{
	struct ovt_records *records = &bench->processes[0].records;
	struct test_task *a = submit(0, 'a', "cb", ~0ull, 0);
	struct test_task *next;

	(void)state;
	assert_true(a->segments[0].time == OVT_SERVICE_MAX_CPU_NS);
	assert_true(a->segments[1].time == ~0ull); /* the host's own guess */
	ovt_service_settle(&bench->service, 0);
	told(0, 'a');
	ovt_service_cpu_done(&a->service, 0, 0, 500);
	ovt_service_settle(&bench->service, 500);
	job_ends(a, 0, 70);
	ovt_service_settle(&bench->service, 600);
	told(0, 'a');
	next = submit(0, 'b', "cb", 1, 600);
	assert_int_equal(next->segments[0].time, 500);
	assert_int_equal(next->segments[1].time, 70);
	/* Another process's program of the same name is another program. */
	next = submit(1, 'c', "cb", 1, 600);
	assert_int_equal(next->segments[0].time, 1);
	/* However long a CPU segment took, its estimate is at most a second. */
	ovt_records_note(records, 'c', 3600 * 1000 * MS);
	next = submit(0, 'd', "cb", 1, 600);
	assert_true(next->segments[0].time == OVT_SERVICE_MAX_CPU_NS);
}

static void what_failed_is_not_measured(void **state)
{
	struct test_task *a = submit(0, 'a', "b", 5, 0);
	struct test_task *b = submit(0, 'b', "c", 5, 0);

	(void)state;
	ovt_service_settle(&bench->service, 0);
	job_ends(a, -ENOEXEC, 70);
	told(0, 'b');
	ovt_service_cpu_done(&b->service, 0, -EIO, 9);
	ovt_service_settle(&bench->service, 10);
	assert_int_equal(ovt_records_time(&bench->processes[0].records, 'b', 123), 123);
	assert_int_equal(ovt_records_time(&bench->processes[0].records, 'c', 123), 123);
	assert_int_equal(a->service.status, -ENOEXEC);
}

static void cancels_end_a_task_where_it_is(void **state)
{
	struct test_task *a = submit(0, 'a', "b", 5, 0);
	struct test_task *b = submit(0, 'b', "b", 5, 0);
	struct test_task *c = submit(0, 'c', "cb", 5, 0);

	(void)state;
	settles(0, "a+ b+ c+ a* a0>1 c* !0");
	assert_int_equal(ovt_service_cancel(&b->service, 1), 0);
	expect("b. !0");
	assert_int_equal(b->service.status, -ECANCELED);
	assert_int_equal(ovt_service_cancel(&a->service, 1), 0);
	expect("a?");
	assert_int_equal(ovt_service_cancel(&c->service, 1), 0);
	expect("");
	assert_int_equal(ovt_service_cancel(&b->service, 1), -ENOENT);
	job_ends(a, -ECANCELED, 0);
	settles(2, "a. !0");
	told(0, 'c');
	ovt_service_cpu_done(&c->service, 0, 0, 3);
	settles(3, "c. !0");
	assert_int_equal(c->service.status, -ECANCELED);
	assert_int_equal(c->results[1].queued_ns, 0);
}

/* A job that is over at an instant ends before a cancel of that instant. */
static void an_end_comes_before_a_cancel(void **state)
{
	struct test_task *a = submit(0, 'a', "b", 5, 0);

	(void)state;
	ovt_service_settle(&bench->service, 0);
	job_ends(a, 0, 5);
	assert_int_equal(ovt_service_cancel(&a->service, 5), -ENOENT);
	assert_int_equal(a->service.status, 0);
}

static void ends_of_an_instant_are_in_the_order_of_dispatch(void **state)
{
	struct test_task *a = submit(0, 'a', "c", 5, 0);
	struct test_task *b = submit(0, 'b', "c", 5, 0);
	struct test_task *c = submit(1, 'c', "c", 5, 0);

	(void)state;
	ovt_service_settle(&bench->service, 0);
	told(0, 'a');
	told(0, 'b');
	told(1, 'c');
	bench->said[0] = 0;
	ovt_service_cpu_done(&c->service, 0, 0, 5);
	ovt_service_cpu_done(&b->service, 0, 0, 5);
	ovt_service_cpu_done(&a->service, 0, 0, 5);
	settles(5, "a. !0 b. !0 c. !1");
}

static void a_segment_is_overdue(void **state)
{
	struct test_task *a = submit(0, 'a', "cb", 6 * MS, 0);
	struct ovt_service_counts counts;

	(void)state;
	ovt_service_settle(&bench->service, 0);
	told(0, 'a');
	assert_true(ovt_service_next_time(&bench->service) == 24 * MS);
	assert_false(ovt_service_settle(&bench->service, 24 * MS - 1));
	bench->said[0] = 0;
	settles(24 * MS, "a-");
	counts = ovt_service_count(&bench->processes[0]);
	assert_int_equal(counts.overdue, 1);
	assert_int_equal(counts.dispatched, 1);
	assert_int_equal(bench->processes[0].overdue, 1);
	assert_true(ovt_service_next_time(&bench->service) == ~0ull);
	ovt_service_cpu_done(&a->service, 0, 0, 30 * MS);
	settles(30 * MS, "a1>1");
}

static void counts_say_where_tasks_are(void **state)
{
	struct ovt_service_counts counts;
	struct test_task *a = submit(0, 'a', "bcb", 5, 0);

	(void)state;
	submit(0, 'b', "b", 5, 0);
	submit(0, 'c', "cb", 5, 0);
	submit(0, 'd', "b", 5, 0);
	ovt_service_settle(&bench->service, 0);
	counts = ovt_service_count(&bench->processes[0]);
	assert_int_equal(counts.waiting, 2);
	assert_int_equal(counts.dispatched, 2);
	assert_int_equal(counts.ready, 0);
	assert_int_equal(counts.slots, 1);
	assert_int_equal(counts.overdue, 0);
	assert_int_equal(counts.uncollected, 0);
	told(0, 'c');
	ovt_service_cpu_done(&bench->tasks[2].service, 0, 0, 1);
	ovt_service_settle(&bench->service, 1);
	counts = ovt_service_count(&bench->processes[0]);
	assert_int_equal(counts.ready, 1);
	assert_int_equal(counts.dispatched, 2);
	job_ends(a, -EIO, 5);
	ovt_service_settle(&bench->service, 2);
	counts = ovt_service_count(&bench->processes[0]);
	assert_int_equal(counts.uncollected, 1);
}

static void room_is_bounded(void **state)
{
	(void)state;
	submit(0, 'a', "c", 5, 0);
	assert_int_equal(ovt_service_check_room(&bench->processes[0], 'a'), -EEXIST);
	assert_int_equal(ovt_service_check_room(&bench->processes[1], 'a'), 0);
	assert_int_equal(ovt_service_check_task(0, 0, 0, 2, 254), -EINVAL);
	assert_int_equal(ovt_service_check_task(1, 0, 0, 2, 254), 0);
	assert_int_equal(ovt_service_check_task(OVT_SERVICE_MAX_SEGMENTS, 254, 2, 2, 254), 0);
	assert_int_equal(ovt_service_check_task(OVT_SERVICE_MAX_SEGMENTS + 1, 0, 0, 2, 254), -E2BIG);
	assert_int_equal(ovt_service_check_task(1, 255, 0, 2, 254), -EPERM);
	assert_int_equal(ovt_service_check_task(1, 255, 0, 2, 255), 0);
	assert_int_equal(ovt_service_check_task(1, 256, 0, 2, 255), -EINVAL);
	assert_int_equal(ovt_service_check_task(1, 0, 3, 2, 255), -EINVAL);
}

static void a_width_is_that_of_the_segments_and_names_no_core(void **state)
{
	(void)state;
	assert_int_equal(ovt_service_check_width(1, 1, 0, 1), 0);
	assert_int_equal(ovt_service_check_width(4, 4, 0, 4), 0);
	assert_int_equal(ovt_service_check_width(0, 0, 0, 4), -EINVAL);
	assert_int_equal(ovt_service_check_width(5, 5, 0, 4), -EINVAL);
	assert_int_equal(ovt_service_check_width(3, 2, 0, 4), -EINVAL);
	assert_int_equal(ovt_service_check_width(2, 3, 0, 4), -EINVAL);
	assert_int_equal(ovt_service_check_width(2, 2, 1, 4), -EINVAL);
}

/* Memory of a task with groups. */
struct wide {
	struct ovt_sched_span span;
	struct ovt_sched_gap gaps[2];
	u32 cores[2];
};

static struct test_task *submit_wide(struct wide *wide, char name, const char *segments, u32 width)
{
	struct test_task *task = task_of(name, segments, 5);

	memset(wide, 0x5a, sizeof(*wide));
	wide->span.width = width;
	wide->span.gaps = wide->gaps;
	task->service.sched.core = 0;
	task->service.sched.span = width > 1 ? &wide->span : NULL;
	task->service.cores = wide->cores;
	ovt_service_submit(&bench->processes[0], &task->service, 0);
	return task;
}

static void a_task_with_groups_has_its_cores_before_its_first_job(void **state)
{
	struct test_task *task, *behind;
	struct wide wide;

	(void)state;
	task = submit_wide(&wide, 'a', "bb", 2);
	settles(0, "a+ a* a0>2");	/* the host prefers core 2 */
	assert_int_equal(wide.cores[0], 2);
	assert_int_equal(wide.cores[1], 1);
	assert_true(wide.span.cores == 3);
	behind = submit(1, 'b', "b", 5, 1);
	settles(1, "b+");
	job_ends(task, 0, 40);
	settles(2, "a1>2");
	job_ends(task, 0, 5);
	settles(3, "a. !0 b* b0>1");
	assert_int_equal(ovt_service_event_of(&task->service).core, 2);
	job_ends(behind, 0, 5);
	settles(4, "b. !1");
	/* The record has the times that jobs take on an idle device, not the FCs' sum. */
	assert_int_equal(ovt_records_time(&bench->processes[0].records, 'b', 0), 37);
}

/* The group takes an open core; if several are open, the core that the host prefers. */
static void a_group_of_one_part_takes_one_core(void **state)
{
	struct test_task *task;
	struct wide wide, other;

	(void)state;
	task = submit_wide(&wide, 'a', "b", 1);
	settles(0, "a+ a* a0>2");
	assert_int_equal(wide.cores[0], 2);
	submit_wide(&other, 'b', "b", 1);
	settles(0, "b+ b* b0>1");
	assert_int_equal(other.cores[0], 1);
	job_ends(task, -EIO, 5);
	settles(1, "a. !0");
	assert_int_equal(task->service.status, -EIO);
}

static void tasks_are_found_among_many(void **state)
{
	struct ovt_service_process *process = &bench->processes[0];
	u32 i;

	(void)state;
	submit_many(process, 0);
	assert_int_equal(ovt_service_check_room(process, ~0ull), -ENOSPC);
	for (i = 0; i < OVT_SERVICE_MAX_TASKS; i++)
		assert_int_equal(ovt_service_find(process, i)->tag, i);
	assert_null(ovt_service_find(process, OVT_SERVICE_MAX_TASKS));
}

static void a_user_has_a_quarter_of_the_kept_places(void **state)
{
	(void)state;
	assert_int_equal(ovt_service_places_of_a_user(1), 1);
	assert_int_equal(ovt_service_places_of_a_user(7), 1);
	assert_int_equal(ovt_service_places_of_a_user(8), 2);
	assert_int_equal(ovt_service_places_of_a_user(100), 25);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_task_goes_through_its_segments),
		CASE(watchers_hear_of_every_step),
		CASE(waiting_is_counted),
		CASE(a_report_is_taken_once_and_when_it_is_asked_for),
		CASE(times_are_measured_and_not_believed),
		CASE(what_failed_is_not_measured),
		CASE(cancels_end_a_task_where_it_is),
		CASE(an_end_comes_before_a_cancel),
		CASE(ends_of_an_instant_are_in_the_order_of_dispatch),
		CASE(a_segment_is_overdue),
		CASE(counts_say_where_tasks_are),
		CASE(room_is_bounded),
		CASE(tasks_are_found_among_many),
		cmocka_unit_test(a_width_is_that_of_the_segments_and_names_no_core),
		cmocka_unit_test_setup_teardown(
			a_task_with_groups_has_its_cores_before_its_first_job, set_up_two_cores,
			tear_down),
		cmocka_unit_test_setup_teardown(a_group_of_one_part_takes_one_core,
						set_up_two_cores, tear_down),
		cmocka_unit_test(a_user_has_a_quarter_of_the_kept_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
