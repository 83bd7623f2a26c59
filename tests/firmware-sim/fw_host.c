// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>

#include "cmocka_all.h"
#include "fw_host.h"

static struct mock *mock_new_of(void **state, u32 cores, enum ovt_mode mode, u32 event_count,
				bool fair, u64 quota_ns)
{
	struct mock *mock = calloc(1, sizeof(*mock));
	struct ovt_fw_config config = {
		.profile = ovt_profile_find("ideal"),
		.mode = mode,
		.core_count = cores,
		.fair = fair,
		.quota_ns = quota_ns,
		.watchdog_cycles = 1000000,
		.cores = mock->cores,
		.core_states = mock->states,
		.commands = mock->commands,
		.command_count = MAX_COMMANDS,
		.events = mock->events,
		.event_count = event_count,
	};

	memset(&mock->fw, USED, sizeof(mock->fw));
	memset(mock->cores, USED, sizeof(mock->cores));
	memset(mock->states, USED, sizeof(mock->states));
	memset(mock->commands, USED, sizeof(mock->commands));
	memset(mock->events, USED, sizeof(mock->events));
	memset(&mock->context, USED, sizeof(mock->context));
	memset(mock->contexts, USED, sizeof(mock->contexts));
	memset(mock->turns, USED, sizeof(mock->turns));
	ovt_fw_init(&mock->fw, &config);
	ovt_fw_context_init(&mock->context);
	mock->step_budget = 1;
	mock->next = *state;
	*state = mock;
	return mock;
}

struct mock *mock_new(void **state, u32 cores, enum ovt_mode mode, u32 event_count)
{
	return mock_new_of(state, cores, mode, event_count, false, 0);
}

struct mock *mock_new_fair(void **state, u32 cores, u64 quota_ns)
{
	return mock_new_of(state, cores, OVT_MODE_TIMED, 64, true, quota_ns);
}

static void expect_idle(const struct mock *mock)
{
	u32 core, context;

	for (core = 0; core < mock->fw.config.core_count; core++) {
		const struct ovt_fw_core *state = &mock->states[core];

		assert_int_equal(state->unfinished, 0);
		assert_int_equal(state->resting, 0);
		assert_int_equal(state->waiting[OVT_RING_NORMAL], 0);
		assert_true(ovt_list_empty(&state->circle));
		for (context = 0; context < CONTEXTS; context++) {
			assert_int_equal(mock->turns[context][core].waiting, 0);
			assert_int_equal(mock->turns[context][core].allowance, 0);
		}
	}
}

static void job_free(struct mock_job *job)
{
	free(job->program);
	free(job->fcs);
	free(job);
}

int mocks_end(void **state)
{
	struct mock *mock;

	while ((mock = *state)) {
		struct mock_job *job;

		if (mock->fw.config.fair)
			expect_idle(mock);
		while ((job = mock->jobs)) {
			mock->jobs = job->next;
			job_free(job);
		}
		*state = mock->next;
		free(mock);
	}
	return 0;
}

struct mock_job *job_new(struct mock *mock, char name, u32 core, u32 priority, u32 fc_count,
			 u64 duration)
{
	struct mock_job *job = calloc(1, sizeof(*job));
	u32 index;

	job->name = name;
	job->program = calloc(fc_count, sizeof(*job->program));
	job->fcs = calloc(fc_count, sizeof(*job->fcs));
	for (index = 0; index < fc_count; index++) {
		job->program[index].opcode = OVERTAKE_OP_DELAY;
		job->program[index].delay_cycles = duration;
		job->fcs[index] = (struct ovt_fc){ index, 1 };
	}
	job->fw.context = &mock->context;
	job->fw.fcs = job->fcs;
	job->fw.fc_count = fc_count;
	job->fw.core = core;
	job->fw.priority = priority;
	job->fw.regions[OVERTAKE_REGION_PROGRAM] = (struct ovt_region){
		.base = (u8 *)job->program,
		.length = fc_count * sizeof(*job->program),
		.flags = OVT_REGION_READ,
	};
	job->next = mock->jobs;
	mock->jobs = job;
	return job;
}

static void take_event(struct mock *mock, const struct ovt_event *event)
{
	struct mock_job *job = (struct mock_job *)event->job;

	switch (event->type) {
	case OVT_EVENT_STARTED:
		assert_true(mock->trace_length < MAX_TRACE);
		mock->trace[mock->trace_length++] = (struct started){
			job->name, event->fc_index, event->core, event->ring, event->time_ns };
		mock->resumed += event->resumes;
		break;
	case OVT_EVENT_PREEMPTED:
		assert_non_null(event->by);
		if (mock->preempted < MAX_OVERTAKINGS)
			mock->overtakings[mock->preempted] = (struct overtaking){
				job->name, ((struct mock_job *)event->by)->name, event->fc_index,
				event->time_ns };
		mock->preempted++;
		break;
	case OVT_EVENT_HUNG:
		mock->hung++;
		break;
	case OVT_EVENT_FAULT:
		mock->faults++;
		break;
	case OVT_EVENT_KILLED:
		mock->killed++;
		break;
	case OVT_EVENT_ENDED:
		assert_int_equal(job->ended, 0);
		job->ended = 1;
		break;
	case OVT_EVENT_ARRIVED:
	case OVT_EVENT_DONE:
		break;
	case OVT_EVENT_CANCELLED:
		mock->cancels++;
		break;
	}
}

void take_events(struct mock *mock)
{
	struct ovt_event event;

	while (ovt_fw_pop_event(&mock->fw, &event))
		take_event(mock, &event);
}

void drain(struct mock *mock, u64 horizon)
{
	enum ovt_advance result;

	do {
		result = ovt_fw_advance(&mock->fw, horizon);
		take_events(mock);
	} while (result == OVT_ADVANCE_EVENTS);
}

void execute(struct mock *mock, u32 core, u64 now)
{
	enum ovt_step step = OVT_STEP_MORE;

	while (step == OVT_STEP_MORE)
		step = ovt_core_step(&mock->cores[core - 1], mock->step_budget);
	if (step == OVT_STEP_PRICED)
		ovt_fw_priced(&mock->fw, core);
	else
		ovt_fw_executed(&mock->fw, core, now);
}

void run_until(struct mock *mock, u64 until)
{
	u32 core;

	drain(mock, until - 1);
	while (!ovt_fw_settled(&mock->fw, until - 1)) {
		for (core = 1; core <= mock->fw.config.core_count; core++) {
			if (ovt_fw_runnable(&mock->fw, core))
				execute(mock, core, until - 1);
		}
		drain(mock, until - 1);
	}
}

void submit(struct mock *mock, struct mock_job *job, u64 at)
{
	assert_true(ovt_fw_reserve(&mock->fw, 2));
	ovt_fw_submit(&mock->fw, &job->fw, at);
}

struct mock_job *submitted(struct mock *mock, char name, u32 core, u32 priority, u32 fc_count,
			   u64 duration, u64 at)
{
	struct mock_job *job = job_new(mock, name, core, priority, fc_count, duration);

	submit(mock, job, at);
	return job;
}

void cancel(struct mock *mock, struct mock_job *job, u64 at)
{
	ovt_fw_cancel(&mock->fw, &job->fw, at);
}

void set_limit(struct mock *mock, u32 core, u32 limit, u64 at)
{
	assert_true(ovt_fw_reserve(&mock->fw, 1));
	ovt_fw_limit(&mock->fw, core, limit, at);
}

void set_normal_floor(struct mock *mock, u32 core, u32 floor, u64 at)
{
	assert_true(ovt_fw_reserve(&mock->fw, 1));
	ovt_fw_normal_floor(&mock->fw, core, floor, at);
}

void reset(struct mock *mock, u32 core, u64 at)
{
	assert_true(ovt_fw_reserve(&mock->fw, 1));
	ovt_fw_reset(&mock->fw, core, at);
}

void hold(struct mock *mock, u64 at)
{
	assert_true(ovt_fw_reserve(&mock->fw, 1));
	ovt_fw_hold(&mock->fw, at);
}

void release(struct mock *mock, u64 at)
{
	assert_true(ovt_fw_reserve(&mock->fw, 1));
	ovt_fw_release(&mock->fw, at);
}

void kill_context(struct mock *mock, struct ovt_fw_context *context, u64 at)
{
	assert_true(ovt_fw_reserve(&mock->fw, 1));
	ovt_fw_kill_context(&mock->fw, context, at);
}

void expect_trace(const struct mock *mock, const char *expected)
{
	char text[8192];
	size_t used = 0;
	u32 index;

	text[0] = 0;
	for (index = 0; index < mock->trace_length; index++) {
		const struct started *fc = &mock->trace[index];

		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%c%u@%llu",
					 index ? " " : "", fc->job, fc->index,
					 (unsigned long long)fc->start);
	}
	assert_string_equal(text, expected);
}
