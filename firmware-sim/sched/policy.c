// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Policies: which task goes first, and which tasks may use the gap of another.
 *
 * "priority" is the documented order.  The others exist to be compared with it: "fifo" is a queue
 * in order of arrival; "shortest" and "deadline" order by BPU time and by deadline within the
 * priority, and insert by the rules of "priority".
 */
#include "sched/sched.h"

static int compare_u64(u64 a, u64 b)
{
	return a < b ? -1 : a > b;
}

static int compare_custom_id(s64 a, s64 b)
{
	return a < b ? -1 : a > b;
}

static int by_priority(const struct ovt_sched_task *a, const struct ovt_sched_task *b)
{
	if (a->priority != b->priority)
		return a->priority > b->priority ? -1 : 1;
	return compare_custom_id(a->custom_id, b->custom_id);
}

static int by_bpu_time(const struct ovt_sched_task *a, const struct ovt_sched_task *b)
{
	if (a->priority != b->priority)
		return a->priority > b->priority ? -1 : 1;
	return compare_u64(a->bpu_time, b->bpu_time);
}

static int by_deadline(const struct ovt_sched_task *a, const struct ovt_sched_task *b)
{
	if (a->priority != b->priority)
		return a->priority > b->priority ? -1 : 1;
	return compare_u64(a->deadline, b->deadline);
}

static int by_arrival(const struct ovt_sched_task *a, const struct ovt_sched_task *b)
{
	(void)a;
	(void)b;
	return 0;
}

/* Returns the time of the BPU segment after the gap. */
static u64 next_bpu_time(const struct ovt_sched_task *holder)
{
	u32 segment = holder->segment + 1;

	while (!holder->segments[segment].fc_count)
		segment++;
	return holder->segments[segment].time;
}

/*
 * The condition (bpu - remaining) / next * 100 < threshold is exactly
 * bpu < remaining + next * threshold / 100, if the quotient is rounded up.
 */
static void insert_by_rules(const struct ovt_sched *sched, const struct ovt_sched_task *holder,
			    struct ovt_sched_insertion *insertion)
{
	u64 whole = holder->segments[holder->segment].time;
	struct ovt_wide late = ovt_wide_multiply(next_bpu_time(holder),
						 sched->settings.threshold_percent);

	insertion->slack = ovt_wide_hundredth(late);
	insertion->floor = whole > sched->settings.wait_dispatch_time ?
				   ovt_wide_most() :
				   ovt_wide(sched->settings.insert_max_time);
}

static const struct ovt_sched_policy policies[] = {
	{ .name = "priority", .compare = by_priority, .insertion = insert_by_rules },
	{ .name = "fifo", .compare = by_arrival },
	{ .name = "shortest", .compare = by_bpu_time, .insertion = insert_by_rules },
	{ .name = "deadline", .compare = by_deadline, .insertion = insert_by_rules },
};

const struct ovt_sched_policy *ovt_sched_policy_at(u32 index)
{
	return index < sizeof(policies) / sizeof(policies[0]) ? &policies[index] : NULL;
}

const struct ovt_sched_policy *ovt_sched_policy_find(const char *name)
{
	const struct ovt_sched_policy *policy;
	u32 index;

	for (index = 0; (policy = ovt_sched_policy_at(index)); index++) {
		if (!strcmp(policy->name, name))
			return policy;
	}
	return NULL;
}
