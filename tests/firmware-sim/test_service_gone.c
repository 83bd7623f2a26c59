// SPDX-License-Identifier: MIT
/* Processes that go or are banned leave nothing behind: in parts, without blocking others. */
#include "service_bench.h"

static void a_process_that_goes_leaves_nothing(void **state)
{
	struct test_task *a = submit(0, 'a', "b", 5, 0);
	struct test_task *b = submit(0, 'b', "c", 5, 0);
	struct test_task *c = submit(0, 'c', "c", 5, 0);

	(void)state;
	submit(0, 'd', "b", 5, 0);
	submit(0, 'e', "c", 5, 0);
	submit(1, 'x', "b", 5, 0);
	ovt_service_settle(&bench->service, 0); /* a on the device; b, c told to run; e has no worker */
	told(0, 'b');
	told(0, 'c');
	ovt_service_cpu_done(&b->service, 0, 0, 1);
	ovt_service_settle(&bench->service, 1); /* b has ended, e runs */
	ovt_service_cpu_done(&c->service, 0, 0, 2); /* c has reported, too */
	bench->said[0] = 0;
	assert_false(ovt_service_abandon(&bench->processes[0], 2));
	expect("e. e~ c. c~ a? d. d~ b~");
	assert_false(ovt_service_is_idle(&bench->processes[0]));
	settles(2, "");
	job_ends(a, -ECANCELED, 0);
	settles(3, "a. a~ x* x0>1");
	assert_true(ovt_service_is_idle(&bench->processes[0]));
	ovt_service_close(&bench->processes[0]);
	nothing_to_tell(0);
}

/* Each call of the host does a bounded part of the work, however much a client has prepared. */
static void much_is_done_in_parts(void **state)
{
	struct ovt_service_process *process = &bench->processes[0];
	u32 calls;

	(void)state;
	process->sched.worker_count = OVT_SERVICE_MAX_WORKERS;
	submit_many(process, 255); /* no limit holds them up */
	for (calls = 0; ovt_service_settle(&bench->service, 0); calls++)
		bench->said[0] = 0;
	assert_int_equal(calls, OVT_SERVICE_MAX_TASKS / OVT_SERVICE_STEPS_AT_ONCE);
	for (calls = 0; ovt_service_abandon(process, 1); calls++)
		bench->said[0] = 0;
	assert_true(calls >= OVT_SERVICE_MAX_TASKS / OVT_SERVICE_ABANDONED_AT_ONCE);
	assert_true(ovt_service_is_idle(process));
}

/* The death of a process with thousands of tasks takes many calls; others go on in between. */
static void others_go_on_while_a_process_goes(void **state)
{
	struct ovt_service_process *process = &bench->processes[0];
	u32 calls = 1;

	(void)state;
	submit_many(process, 254); /* all before x */
	ovt_service_settle(&bench->service, 0);
	submit(1, 'x', "b", 5, 0);
	assert_true(ovt_service_abandon(process, 1));
	bench->said[0] = 0;
	ovt_service_settle(&bench->service, 1);
	assert_non_null(strstr(bench->said, "x* x0>1"));
	for (; ovt_service_abandon(process, 1); calls++)
		bench->said[0] = 0;
	assert_true(calls >= OVT_SERVICE_MAX_TASKS / OVT_SERVICE_ABANDONED_AT_ONCE);
	assert_true(ovt_service_is_idle(process));
}

/* The first call cancels the live task, however many ended tasks were not collected. */
static void what_lives_goes_before_what_has_ended(void **state)
{
	struct ovt_service_process *process = &bench->processes[0];
	u32 left, i;
	bool found;

	(void)state;
	for (i = 0; i < 20; i++)
		submit(0, (char)('A' + i), "c", 5, 0);
	left = ovt_service_live(process);
	assert_false(ovt_service_cancel_all(process, &left, &found, 0));
	submit(0, 'h', "bcb", 5, 0);
	ovt_service_settle(&bench->service, 0);
	assert_int_equal(process->sched.slots, 1);
	bench->said[0] = 0;
	assert_true(ovt_service_abandon(process, 1));
	assert_memory_equal(bench->said, "h? A~ ", 6);
	assert_int_equal(ovt_service_count(process).uncollected, 5);
	assert_false(ovt_service_abandon(process, 1));
}

static void a_ban_is_carried_out_in_parts(void **state)
{
	struct ovt_service_process *process = &bench->processes[0];
	u32 calls = 0, left;
	bool found = false;

	(void)state;
	submit_many(process, 0);
	ovt_service_settle(&bench->service, 0); /* two run, until their process reports */
	left = ovt_service_live(process);
	assert_int_equal(left, OVT_SERVICE_MAX_TASKS);
	do {
		bench->said[0] = 0;
		calls++;
	} while (ovt_service_cancel_all(process, &left, &found, 1));
	assert_int_equal(calls, OVT_SERVICE_MAX_TASKS / OVT_SERVICE_STEPS_AT_ONCE);
	assert_true(found);
	found = false;
	left = ovt_service_live(process);
	assert_int_equal(left, 2);
	assert_false(ovt_service_cancel_all(process, &left, &found, 1));
	assert_false(found);
	assert_int_equal(ovt_service_count(process).uncollected, OVT_SERVICE_MAX_TASKS - 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_process_that_goes_leaves_nothing),
		CASE(much_is_done_in_parts),
		CASE(others_go_on_while_a_process_goes),
		CASE(what_lives_goes_before_what_has_ended),
		CASE(a_ban_is_carried_out_in_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
