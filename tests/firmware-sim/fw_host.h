/* SPDX-License-Identifier: MIT */
/*
 * A host of the firmware that steps time by hand and notes the firmware's events.
 *
 * Programs are one DELAY per FC on the "ideal" profile (1 cycle = 1 ns), so every time is
 * exact.
 */
#ifndef TESTS_FW_HOST_H
#define TESTS_FW_HOST_H

#include "fw/fw.h"

#define MAX_CORES	4
#define MAX_COMMANDS	256
#define MAX_TRACE	4096
#define MAX_OVERTAKINGS	16
#define CONTEXTS	3
/* Byte that fills a host's memory before the firmware gets it. */
#define USED		0x5a

struct mock_job {
	struct ovt_fw_job fw;
	struct mock_job *next;	/* next job of the same mock */
	struct overtake_insn *program;
	struct ovt_fc *fcs;
	char name;
	int ended;	/* ENDED was reported, which happens once */
};

struct started {
	char job;
	u32 index;
	u32 core;
	u32 ring;
	u64 start;
};

/* FC @index of @job waits for @by. */
struct overtaking {
	char job;
	char by;
	u32 index;
	u64 at;
};

struct mock {
	struct mock *next;	/* next mock of the same test */
	struct mock_job *jobs;
	struct ovt_fw fw;
	struct ovt_core cores[MAX_CORES];
	struct ovt_fw_core states[MAX_CORES];
	struct ovt_command commands[MAX_COMMANDS];
	struct ovt_event events[64];
	struct ovt_fw_context context;
	struct ovt_fw_context contexts[CONTEXTS];	/* for a fair device, and their turns */
	struct ovt_fw_turn turns[CONTEXTS][MAX_CORES];
	struct started trace[MAX_TRACE];
	u32 trace_length;
	u32 preempted;
	struct overtaking overtakings[MAX_OVERTAKINGS];	/* the first ones */
	u32 resumed;	/* STARTED events with @resumes */
	u32 hung;
	u32 faults;
	u32 killed;
	u32 cancels;
	u32 step_budget;	/* cycles of one ovt_core_step() */
};

/* A test whose mocks are freed at its end. */
#define CASE(test)	cmocka_unit_test_teardown(test, mocks_end)

/*
 * Makes a mock of the test that has @state.  A test may have several mocks: CASE() frees them with
 * their jobs.
 * @event_count: a power of two from 16 to 64.
 */
struct mock *mock_new(void **state, u32 cores, enum ovt_mode mode, u32 event_count);
/* Makes a fair mock, in mode timed; @quota_ns: see struct ovt_fw_config. */
struct mock *mock_new_fair(void **state, u32 cores, u64 quota_ns);
/* Frees the mocks of a test; nothing may wait any more in fair ones. */
int mocks_end(void **state);
struct mock_job *job_new(struct mock *mock, char name, u32 core, u32 priority, u32 fc_count,
			 u64 duration);

void submit(struct mock *mock, struct mock_job *job, u64 at);
/* Calls job_new() and submit(). */
struct mock_job *submitted(struct mock *mock, char name, u32 core, u32 priority, u32 fc_count,
			   u64 duration, u64 at);
void cancel(struct mock *mock, struct mock_job *job, u64 at);
void set_limit(struct mock *mock, u32 core, u32 limit, u64 at);
void set_normal_floor(struct mock *mock, u32 core, u32 floor, u64 at);
void reset(struct mock *mock, u32 core, u64 at);
void hold(struct mock *mock, u64 at);
void release(struct mock *mock, u64 at);
void kill_context(struct mock *mock, struct ovt_fw_context *context, u64 at);

/* Takes every event that is in the queue. */
void take_events(struct mock *mock);
/* Steps the FC of @core until it is priced or over, and reports this to the firmware (at @now). */
void execute(struct mock *mock, u32 core, u64 now);
/* Advances without executing anything, however much room events need. */
void drain(struct mock *mock, u64 horizon);
/* Runs everything before @until, execution included. */
void run_until(struct mock *mock, u64 until);

/* Checks which FCs started, as "N0@0 N1@100 ...": job letter, FC index, start. */
void expect_trace(const struct mock *mock, const char *expected);

#endif
