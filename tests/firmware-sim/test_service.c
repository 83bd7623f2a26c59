// SPDX-License-Identifier: MIT
/*
 * Service mode's task tables, with a host that does nothing by itself: what it is told is read as
 * one line of text, "a0>1" job of segment 0 of a to core 1, "a?" cancel its job, "!0" process 0 is
 * to be woken, "a~" it is to be freed, "a+", "a*", "a-", "a." it has arrived, been dispatched, is
 * overdue, has ended; and in a test that wants to know, "a=", "a(", "a)" it is ready, a CPU segment
 * of it begins, is over.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cmocka_all.h"
#include "service/service.h"

#define PROCESSES	3u
#define TASKS		32u
#define SEGMENTS	8u
#define MS		1000000ull

struct test_task {
	struct ovt_service_task service;
	struct ovt_sched_segment segments[SEGMENTS];
	u64 keys[SEGMENTS];
	struct overtake_result results[SEGMENTS];
	char name;
};

struct bench {
	struct ovt_service service;
	struct ovt_sched_queue_core cores[2];
	struct ovt_service_process processes[PROCESSES];
	struct ovt_sched_line lines[PROCESSES][2];
	struct test_task tasks[TASKS];
	u32 task_count;
	bool says_all;
	char said[4096];
};

static struct bench *bench;

static void say(const char *format, char name, unsigned int segment, unsigned int core)
{
	size_t length = strlen(bench->said);

	if (length)
		bench->said[length++] = ' ';
	snprintf(bench->said + length, sizeof(bench->said) - length, format, name, segment, core);
}

static char name_of(const struct ovt_service_task *task)
{
	return ovt_container_of(task, struct test_task, service)->name;
}

static u32 submit_job(struct ovt_service_task *task, u32 segment, u32 core, u64 cores)
{
	u32 chosen = core ? core : (u32)__builtin_ctzll(cores) + 1;

	say("%c%u>%u", name_of(task), segment, chosen);
	return chosen;
}

static void cancel_job(struct ovt_service_task *task)
{
	say("%c?", name_of(task), 0, 0);
}

static void wake(struct ovt_service_process *process)
{
	say("!%c", (char)('0' + (process - bench->processes)), 0, 0);
}

static void release(struct ovt_service_task *task)
{
	say("%c~", name_of(task), 0, 0);
}

static void note(const struct ovt_service_task *task, enum ovt_service_step step)
{
	static const char *const marks[] = {
		[OVT_SERVICE_ARRIVED] = "%c+",
		[OVT_SERVICE_DISPATCHED] = "%c*",
		[OVT_SERVICE_OVERDUE] = "%c-",
		[OVT_SERVICE_ENDED] = "%c.",
		[OVT_SERVICE_READY] = "%c=",
		[OVT_SERVICE_CPU_STARTED] = "%c(",
		[OVT_SERVICE_CPU_DONE] = "%c)",
	};

	if (bench->says_all || step <= OVT_SERVICE_ENDED)
		say(marks[step], name_of(task), 0, 0);
}

static const struct ovt_service_host host = {
	.submit_job = submit_job,
	.cancel_job = cancel_job,
	.wake = wake,
	.release = release,
	.note = note,
};

static int set_up(void **state)
{
	const struct ovt_sched_config config = {
		.policy = ovt_sched_policy_at(0),
		.core_count = 1,
		.slots = 1,
		.task_limit = 8,
		.worker_count = 1,
		.threshold_percent = 10,
		.wait_dispatch_time = ~0ull,
		.overdue_min_time = 20 * MS,
		.overdue_factor = 4,
		.share = true,
	};
	u32 i;

	(void)state;
	bench = calloc(1, sizeof(*bench));
	assert_non_null(bench);
	ovt_service_init(&bench->service, &config, &host, bench->cores);
	for (i = 0; i < PROCESSES; i++)
		ovt_service_open(&bench->service, &bench->processes[i], 2, true, bench->lines[i]);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	free(bench);
	return 0;
}

/* @segments: "bcb"; each is named by its letter: all 'b' are one program. */
static struct test_task *task_of(char name, const char *segments, u64 guess)
{
	struct test_task *task = &bench->tasks[bench->task_count++];
	u32 i;

	task->name = name;
	task->service.tag = (u64)name;
	task->service.segments = task->segments;
	task->service.keys = task->keys;
	task->service.results = task->results;
	task->service.sched.segment_count = (u32)strlen(segments);
	task->service.sched.priority = 10;
	task->service.sched.core = 1;
	for (i = 0; segments[i]; i++) {
		task->segments[i].time = guess;
		task->segments[i].fc_count = segments[i] == 'b';
		task->keys[i] = (u64)segments[i];
	}
	return task;
}

static struct test_task *submit(u32 process, char name, const char *segments, u64 guess, u64 now)
{
	struct test_task *task = task_of(name, segments, guess);

	assert_int_equal(ovt_service_check_room(&bench->processes[process], (u64)name), 0);
	ovt_service_submit(&bench->processes[process], &task->service, now);
	return task;
}

static void expect(const char *said)
{
	assert_string_equal(bench->said, said);
	bench->said[0] = 0;
}

static void settles(u64 now, const char *said)
{
	ovt_service_settle(&bench->service, now);
	expect(said);
}

static void job_ends(struct test_task *task, s32 status, u64 executed)
{
	const struct overtake_result result = { .status = status, .executed_ns = executed, .core = 1 };

	ovt_service_job_ended(&task->service, &result);
}

/* The process is told of @name, and of nothing else before. */
static struct ovt_service_task *told(u32 process, char name)
{
	struct ovt_service_task *task = ovt_service_next_event(&bench->processes[process]);

	assert_non_null(task);
	assert_int_equal(name_of(task), name);
	if (ovt_service_has_ended(task))
		ovt_service_collect(task);
	else
		ovt_service_told(task);
	return task;
}

static void nothing_to_tell(u32 process)
{
	assert_null(ovt_service_next_event(&bench->processes[process]));
}

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

/* @b waits for the slot of @a after its leading CPU segment. */
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
	/* However long it took, it is not thought to take longer than a second. */
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

/* What is over at an instant is over before anybody asks to cancel it then. */
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

/* As many tasks as there may be, of one CPU segment each. */
static void submit_many(struct ovt_service_process *process, u32 priority)
{
	static struct test_task many[OVT_SERVICE_MAX_TASKS];
	u32 i;

	for (i = 0; i < OVT_SERVICE_MAX_TASKS; i++) {
		struct test_task *task = &many[i];

		memset(task, 0, sizeof(*task));
		task->name = 'm';
		task->service.tag = (u64)i * 7919 % OVT_SERVICE_MAX_TASKS;
		task->service.segments = task->segments;
		task->service.keys = task->keys;
		task->service.results = task->results;
		task->service.sched.segment_count = 1;
		task->service.sched.priority = priority;
		assert_int_equal(ovt_service_check_room(process, task->service.tag), 0);
		ovt_service_submit(process, &task->service, 0);
		bench->said[0] = 0;
	}
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
	ovt_service_cpu_done(&c->service, 0, 0, 2); /* and c is about to */
	bench->said[0] = 0;
	assert_false(ovt_service_abandon(&bench->processes[0], 2));
	expect("b~ e. e~ c. c~ a? d. d~");
	assert_false(ovt_service_is_idle(&bench->processes[0]));
	settles(2, "");
	job_ends(a, -ECANCELED, 0);
	settles(3, "a. a~ x* x0>1");
	assert_true(ovt_service_is_idle(&bench->processes[0]));
	ovt_service_close(&bench->processes[0]);
	nothing_to_tell(0);
}

/* However much a client has prepared, a call of its host's does a bounded part of it. */
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

/* A death of thousands of tasks takes many calls, and others go on between two of them. */
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

static void a_ban_is_carried_out_in_parts(void **state)
{
	struct ovt_service_process *process = &bench->processes[0];
	u32 calls = 0, left;

	(void)state;
	submit_many(process, 0);
	ovt_service_settle(&bench->service, 0); /* two run, until their process reports */
	left = ovt_service_live(process);
	assert_int_equal(left, OVT_SERVICE_MAX_TASKS);
	do {
		bench->said[0] = 0;
		calls++;
	} while (ovt_service_cancel_all(process, &left, 1));
	assert_int_equal(calls, OVT_SERVICE_MAX_TASKS / OVT_SERVICE_STEPS_AT_ONCE);
	assert_int_equal(ovt_service_live(process), 2);
	assert_int_equal(ovt_service_count(process).uncollected, OVT_SERVICE_MAX_TASKS - 2);
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
		cmocka_unit_test_setup_teardown(a_task_goes_through_its_segments, set_up, tear_down),
		cmocka_unit_test_setup_teardown(watchers_hear_of_every_step, set_up, tear_down),
		cmocka_unit_test_setup_teardown(waiting_is_counted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_report_is_taken_once_and_when_it_is_asked_for,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(times_are_measured_and_not_believed, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_failed_is_not_measured, set_up, tear_down),
		cmocka_unit_test_setup_teardown(cancels_end_a_task_where_it_is, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_end_comes_before_a_cancel, set_up, tear_down),
		cmocka_unit_test_setup_teardown(ends_of_an_instant_are_in_the_order_of_dispatch,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_segment_is_overdue, set_up, tear_down),
		cmocka_unit_test_setup_teardown(counts_say_where_tasks_are, set_up, tear_down),
		cmocka_unit_test_setup_teardown(room_is_bounded, set_up, tear_down),
		cmocka_unit_test_setup_teardown(tasks_are_found_among_many, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_process_that_goes_leaves_nothing, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(much_is_done_in_parts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(others_go_on_while_a_process_goes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_ban_is_carried_out_in_parts, set_up, tear_down),
		cmocka_unit_test(a_user_has_a_quarter_of_the_kept_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
