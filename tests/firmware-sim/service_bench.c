// SPDX-License-Identifier: MIT
#include "service_bench.h"

#include <stdio.h>
#include <stdlib.h>

struct bench *bench;

static void say(const char *format, char name, unsigned int segment, unsigned int core)
{
	size_t length = strlen(bench->said);

	if (length)
		bench->said[length++] = ' ';
	snprintf(bench->said + length, sizeof(bench->said) - length, format, name, segment, core);
}

char name_of(const struct ovt_service_task *task)
{
	return ovt_container_of(task, struct test_task, service)->name;
}

static u32 submit_job(struct ovt_service_task *task, u32 segment, u32 core, u64 cores)
{
	u32 chosen = core ? core : (u32)__builtin_ctzll(cores) + 1;

	say("%c%u>%u", name_of(task), segment, chosen);
	return chosen;
}

/* Returns the last core, so that the order is not that of the numbers. */
static u32 place(struct ovt_service_task *task, u64 cores)
{
	(void)task;
	return 64 - (u32)__builtin_clzll(cores);
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
	.place = place,
	.cancel_job = cancel_job,
	.wake = wake,
	.release = release,
	.note = note,
};

static u32 bench_cores = 1;

int set_up_two_cores(void **state)
{
	int ret;

	bench_cores = 2;
	ret = set_up(state);
	bench_cores = 1;
	return ret;
}

int set_up(void **state)
{
	const struct ovt_sched_settings settings = {
		.policy = ovt_sched_policy_at(0),
		.slots = 1,
		.task_limit = 8,
		.workers = 1,
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
	ovt_service_init(&bench->service, bench_cores, &settings, &host, bench->cores);
	for (i = 0; i < PROCESSES; i++)
		ovt_service_open(&bench->service, &bench->processes[i], 2, true, bench->lines[i]);
	return 0;
}

int tear_down(void **state)
{
	(void)state;
	free(bench);
	return 0;
}

/* @segments: "bcb"; the letter names a segment's program: all 'b' are one program. */
struct test_task *task_of(char name, const char *segments, u64 guess)
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

struct test_task *submit(u32 process, char name, const char *segments, u64 guess, u64 now)
{
	struct test_task *task = task_of(name, segments, guess);

	assert_int_equal(ovt_service_check_room(&bench->processes[process], (u64)name), 0);
	ovt_service_submit(&bench->processes[process], &task->service, now);
	return task;
}

void expect(const char *said)
{
	assert_string_equal(bench->said, said);
	bench->said[0] = 0;
}

void settles(u64 now, const char *said)
{
	ovt_service_settle(&bench->service, now);
	expect(said);
}

void job_ends(struct test_task *task, s32 status, u64 executed)
{
	const struct overtake_result result = { .status = status, .executed_ns = executed, .core = 1 };

	ovt_service_job_ended(&task->service, &result, executed);
}

/* Checks that the next event of the process is about task @name. */
struct ovt_service_task *told(u32 process, char name)
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

void nothing_to_tell(u32 process)
{
	assert_null(ovt_service_next_event(&bench->processes[process]));
}

/* Submits the greatest number of tasks, of one CPU segment each. */
void submit_many(struct ovt_service_process *process, u32 priority)
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
