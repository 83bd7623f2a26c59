/* SPDX-License-Identifier: MIT */
/*
 * A host of the task scheduler that does nothing by itself: a test decides what happens and when,
 * and reads the scheduler's answers as one line of text.
 */
#ifndef TESTS_SCHED_HOST_H
#define TESTS_SCHED_HOST_H

#include "sched/sched.h"

#define HOST_MAX_TASKS		32u
#define HOST_MAX_SEGMENTS	12u
#define HOST_MAX_PROCESSES	8u

struct host_task {
	struct ovt_sched_task sched;
	struct ovt_sched_segment segments[HOST_MAX_SEGMENTS];
	char name;
	u32 fcs_on_device;
	bool ended;
};

struct host {
	struct host *next;			/* next host of the same test */
	struct ovt_sched sched;
	struct ovt_sched_queue queues[3];
	struct ovt_sched_queue_core cores[3][OVT_SCHED_MAX_CORES];	/* for each queue */
	struct ovt_sched_process processes[HOST_MAX_PROCESSES];
	struct ovt_sched_line lines[HOST_MAX_PROCESSES][OVT_SCHED_MAX_CORES];
	u64 now;				/* time of the last call that has a time */
	struct host_task tasks[HOST_MAX_TASKS];
	u32 task_count;
	u64 unfinished[OVT_SCHED_MAX_CORES];	/* by core - 1; a test may add to it */
	u64 open_cores;				/* cores of the last submission: bit core - 1 */
	char answers[4096];
};

/*
 * Options; the defaults: "priority", 1 core, 1 slot, task limit 8, 4 workers.  By default only
 * tasks shorter than the rest of a gap are inserted.
 */
struct host_options {
	const char *policy;
	u32 cores;
	u32 slots;
	u32 task_limit;
	u32 workers;
	u64 threshold_percent;
	u64 insert_max_time;
	u64 wait_dispatch_time;		/* 0: so long that the rule never holds */
	u64 overdue_min_time;		/* 0: nothing is overdue */
	u64 overdue_factor;
	bool share;
};

/* A test whose hosts are freed at its end. */
#define CASE(test)	cmocka_unit_test_teardown(test, hosts_end)

/* Makes a host of the test that has @state: CASE() frees it.  It has queue 0 with process 0. */
struct host *host_new(void **state, const struct host_options *options);
int hosts_end(void **state);
void host_add_process(struct host *host, u32 number, u32 queue);

/*
 * Makes a task of process 0 that has not arrived.  @segments: "b100 c30 b70x3": BPU segment of time
 * 100 and one FC, CPU segment of time 30, BPU segment of time 70 and three FCs.
 */
struct host_task *host_task(struct host *host, char name, const char *segments, u32 priority,
			    u32 core);
/* Calls host_task(), and lets the task arrive. */
struct host_task *host_arrive(struct host *host, char name, const char *segments, u32 priority,
			      u32 core, u64 now);
void host_arrive_task(struct host *host, struct host_task *task, u64 now);

/* Ends the segment that runs for @task.  Actions that follow at once are among the answers. */
void host_segment_ends(struct host *host, struct host_task *task);
void host_segment_fails(struct host *host, struct host_task *task);
void host_cancel(struct host *host, struct host_task *task);
void host_abandon(struct host *host, u32 process);

/* Carries out every action of the scheduler that is possible at @now. */
void host_go(struct host *host, u64 now);

/*
 * Checks the scheduler's answers since the last call: "a0>2" segment 0 of a was submitted to core
 * 2, "a1!" CPU segment 1 of a runs, "a1-" it is overdue, "a?" its job is to be cancelled, "a." a is
 * over.
 */
void host_expect(struct host *host, const char *answers);
/* Calls host_go(), then host_expect(). */
void host_goes(struct host *host, u64 now, const char *answers);

#endif
