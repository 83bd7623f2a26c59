// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>

#include "cmocka_all.h"
#include "sched_host.h"

#define USED	0x5a

struct host *host_new(void **state, const struct host_options *options)
{
	static const struct host_options none;
	const struct host_options *chosen = options ? options : &none;
	struct host *host = calloc(1, sizeof(*host));
	struct ovt_sched_settings settings = {
		.policy = ovt_sched_policy_find(chosen->policy ? chosen->policy : "priority"),
		.slots = chosen->slots ? chosen->slots : 1,
		.task_limit = chosen->task_limit ? chosen->task_limit : 8,
		.workers = chosen->workers ? chosen->workers : 4,
		.threshold_percent = chosen->threshold_percent,
		.insert_max_time = chosen->insert_max_time,
		.wait_dispatch_time = chosen->wait_dispatch_time,
		.overdue_min_time = chosen->overdue_min_time,
		.overdue_factor = chosen->overdue_factor,
		.share = chosen->share,
	};

	assert_non_null(host);
	assert_non_null(settings.policy);
	/* The memory of a host may hold anything before. */
	memset(&host->sched, USED, sizeof(host->sched));
	memset(host->queues, USED, sizeof(host->queues));
	memset(host->cores, USED, sizeof(host->cores));
	memset(host->processes, USED, sizeof(host->processes));
	memset(host->lines, USED, sizeof(host->lines));
	if (!settings.wait_dispatch_time)
		settings.wait_dispatch_time = ~0ull;
	ovt_sched_init(&host->sched, chosen->cores ? chosen->cores : 1, &settings);
	ovt_sched_add_queue(&host->sched, &host->queues[0], host->cores[0]);
	host_add_process(host, 0, 0);
	host->next = *state;
	*state = host;
	return host;
}

void host_add_process(struct host *host, u32 number, u32 queue)
{
	ovt_sched_add_process(&host->sched, &host->processes[number], &host->queues[queue],
			      host->lines[number]);
}

int hosts_end(void **state)
{
	struct host *host;

	while ((host = *state)) {
		*state = host->next;
		free(host);
	}
	return 0;
}

static u32 parse_segments(struct ovt_sched_segment *segments, const char *text)
{
	u32 count = 0;

	while (*text) {
		struct ovt_sched_segment *segment = &segments[count++];
		bool is_bpu = *text == 'b';
		char *rest;

		assert_true(count <= HOST_MAX_SEGMENTS && (is_bpu || *text == 'c'));
		segment->time = strtoull(text + 1, &rest, 10);
		segment->fc_count = is_bpu;
		if (*rest == 'x')
			segment->fc_count = (u32)strtoul(rest + 1, &rest, 10);
		text = *rest == ' ' ? rest + 1 : rest;
	}
	return count;
}

struct host_task *host_task(struct host *host, char name, const char *segments, u32 priority,
			    u32 core)
{
	struct host_task *task = &host->tasks[host->task_count++];

	assert_true(host->task_count <= HOST_MAX_TASKS);
	memset(&task->sched, USED, sizeof(task->sched));
	task->name = name;
	task->sched.process = &host->processes[0];
	task->sched.segments = task->segments;
	task->sched.segment_count = parse_segments(task->segments, segments);
	task->sched.priority = priority;
	task->sched.core = core;
	task->sched.span = NULL;
	task->sched.custom_id = 0;
	task->sched.deadline = 0;
	task->sched.state = OVT_SCHED_NEW;
	return task;
}

void host_arrive_task(struct host *host, struct host_task *task, u64 now)
{
	task->ended = false;
	host->now = now;
	ovt_sched_arrive(&host->sched, &task->sched, now);
}

struct host_task *host_arrive(struct host *host, char name, const char *segments, u32 priority,
			      u32 core, u64 now)
{
	struct host_task *task = host_task(host, name, segments, priority, core);

	host_arrive_task(host, task, now);
	return task;
}

/* Returns the core with the fewest unfinished FCs, as a device does. */
static u32 least_loaded(const struct host *host, u64 cores)
{
	u32 best = 0;
	u32 core;

	for (core = 1; core <= host->sched.core_count; core++) {
		if (!(cores & (1ull << (core - 1))))
			continue;
		if (!best || host->unfinished[core - 1] < host->unfinished[best - 1])
			best = core;
	}
	return best;
}

static u32 core_of(struct host *host, const struct ovt_sched_action *action)
{
	u32 core = action->core;

	host->open_cores = action->cores;
	if (core) {
		assert_true(action->cores == 1ull << (core - 1));
		return core;
	}
	core = least_loaded(host, action->cores);
	ovt_sched_placed(&host->sched, action->task, core);
	return core;
}

static void carry_out(struct host *host, const struct ovt_sched_action *action)
{
	struct host_task *task = ovt_container_of(action->task, struct host_task, sched);
	size_t used = strlen(host->answers);
	char *end = host->answers + used;
	size_t left = sizeof(host->answers) - used;
	u32 core;

	assert_false(task->ended);
	if (used && left > 1) {
		*end++ = ' ';
		left--;
	}
	switch (action->type) {
	case OVT_SCHED_SUBMIT:
		task->fcs_on_device = task->segments[action->segment].fc_count;
		core = core_of(host, action);
		host->unfinished[core - 1] += task->fcs_on_device;
		snprintf(end, left, "%c%u>%u", task->name, action->segment, core);
		break;
	case OVT_SCHED_RUN_CPU:
		snprintf(end, left, "%c%u!", task->name, action->segment);
		break;
	case OVT_SCHED_CANCEL_JOB:
		snprintf(end, left, "%c?", task->name);
		break;
	case OVT_SCHED_OVERDUE:
		snprintf(end, left, "%c%u-", task->name, action->segment);
		break;
	case OVT_SCHED_END:
		task->ended = true;
		snprintf(end, left, "%c.", task->name);
		break;
	}
}

static void segment_is_over(struct host *host, struct host_task *task, bool ok)
{
	struct ovt_sched_action action;

	if (task->sched.placed_core)
		host->unfinished[task->sched.placed_core - 1] -= task->fcs_on_device;
	task->fcs_on_device = 0;
	if (ovt_sched_segment_ended(&host->sched, &task->sched, ok, host->now, &action))
		carry_out(host, &action);
}

void host_segment_ends(struct host *host, struct host_task *task)
{
	segment_is_over(host, task, true);
}

void host_segment_fails(struct host *host, struct host_task *task)
{
	segment_is_over(host, task, false);
}

void host_cancel(struct host *host, struct host_task *task)
{
	struct ovt_sched_action action;

	if (ovt_sched_cancel(&host->sched, &task->sched, &action))
		carry_out(host, &action);
}

void host_abandon(struct host *host, u32 process)
{
	struct ovt_sched_action action;

	while (ovt_sched_abandon(&host->sched, &host->processes[process], &action))
		carry_out(host, &action);
}

void host_go(struct host *host, u64 now)
{
	struct ovt_sched_action action;

	host->now = now;
	while (ovt_sched_next(&host->sched, now, &action))
		carry_out(host, &action);
}

void host_expect(struct host *host, const char *answers)
{
	assert_string_equal(host->answers, answers);
	host->answers[0] = 0;
}

void host_goes(struct host *host, u64 now, const char *answers)
{
	host_go(host, now);
	host_expect(host, answers);
}
