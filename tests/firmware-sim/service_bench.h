/* SPDX-License-Identifier: MIT */
/*
 * A host of service mode that does nothing by itself.  A test reads the calls of the service as one
 * line of text: "a0>1" job of segment 0 of a to core 1, "a?" cancel its job, "!0" process 0 is to
 * be woken, "a~" a is to be freed, "a+", "a*", "a-", "a." a has arrived, was dispatched, is
 * overdue, has ended; and in a test that asks for them, "a=", "a(", "a)" a is ready, a CPU segment
 * of a begins, is over.
 */
#ifndef TESTS_SERVICE_BENCH_H
#define TESTS_SERVICE_BENCH_H

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

extern struct bench *bench;

#define CASE(test)	cmocka_unit_test_setup_teardown(test, set_up, tear_down)

char name_of(const struct ovt_service_task *task);
int set_up(void **state);
int set_up_two_cores(void **state);
int tear_down(void **state);
/* @segments: "bcb"; the letter names a segment's program: all 'b' are one program. */
struct test_task *task_of(char name, const char *segments, u64 guess);
struct test_task *submit(u32 process, char name, const char *segments, u64 guess, u64 now);
/* Checks the calls of the service since the last call of this function. */
void expect(const char *said);
void settles(u64 now, const char *said);
void job_ends(struct test_task *task, s32 status, u64 executed);
/* Checks that the next event of the process is about task @name. */
struct ovt_service_task *told(u32 process, char name);
void nothing_to_tell(u32 process);
/* Submits the greatest number of tasks, of one CPU segment each. */
void submit_many(struct ovt_service_process *process, u32 priority);

#endif
