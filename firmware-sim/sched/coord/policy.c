// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Policies: the order of tasks in the queue, which task of a window goes first, and whether a busy
 * processor gets more runs.
 */
#include "sched/coord/internal.h"

static int by_priority(const struct ovt_coord_task *a, const struct ovt_coord_task *b)
{
	if (a->priority != b->priority)
		return a->priority > b->priority ? -1 : 1;
	return a->custom_id < b->custom_id ? -1 : a->custom_id > b->custom_id;
}

/* A task that has begun goes before one that has not. */
static int by_progress(const struct ovt_coord_task *a, const struct ovt_coord_task *b)
{
	return (int)b->dispatched - (int)a->dispatched;
}

static s64 largest_latency(const struct ovt_coord_task *task, u64 latency, u64 now)
{
	(void)task;
	(void)now;
	return -(s64)ovt_coord_min(latency, OVT_COORD_NEVER / 2);
}

static s64 least_slack(const struct ovt_coord_task *task, u64 latency, u64 now)
{
	s64 most = (s64)(OVT_COORD_NEVER / 2);

	if (task->deadline == OVT_COORD_NEVER)
		return most;
	now = ovt_coord_min(now, (u64)most - 1);
	return (s64)ovt_coord_min(task->deadline, (u64)most - 1) - (s64)now -
	       (s64)ovt_coord_min(latency, (u64)most - 1 - now);
}

static const struct ovt_coord_policy policies[] = {
	{ .name = "priority", .compare = by_priority, .pick = ovt_coord_pick_in_window },
	{
		.name = "fixed",
		.compare = by_progress,
		.pick = ovt_coord_pick_in_window,
		.to_busy = true,
	},
	{
		.name = "round-robin",
		.compare = by_progress,
		.pick = ovt_coord_pick_whole,
		.whole = true,
	},
	{
		.name = "shortest-latency",
		.compare = by_progress,
		.key = largest_latency,
		.pick = ovt_coord_pick_in_window,
		.to_busy = true,
	},
	{
		.name = "heft",
		.compare = by_progress,
		.key = largest_latency,
		.pick = ovt_coord_pick_in_window,
	},
	{
		.name = "heft-reserved",
		.compare = by_progress,
		.key = largest_latency,
		.pick = ovt_coord_pick_in_window,
		.reserves = true,
	},
	{
		.name = "least-slack",
		.compare = by_progress,
		.key = least_slack,
		.pick = ovt_coord_pick_in_window,
	},
};

const struct ovt_coord_policy *ovt_coord_policy_at(u32 index)
{
	return index < sizeof(policies) / sizeof(policies[0]) ? &policies[index] : NULL;
}

const struct ovt_coord_policy *ovt_coord_policy_find(const char *name)
{
	const struct ovt_coord_policy *policy;
	u32 index;

	for (index = 0; (policy = ovt_coord_policy_at(index)); index++) {
		if (!strcmp(policy->name, name))
			return policy;
	}
	return NULL;
}
