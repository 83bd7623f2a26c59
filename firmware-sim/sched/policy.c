// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Policies: who goes first, and who may use the gap that another leaves.
 *
 * "priority" is the contract.  The others exist to be compared with it: "fifo" is a queue without
 * any choice, "shortest" and "deadline" order by BPU time and by deadline within the
 * priority, and insert by the contract's rules.
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

struct product {
	u64 high;
	u64 low;
};

static struct product multiply(u64 a, u64 b)
{
	u64 a_low = (u32)a, a_high = a >> 32;
	u64 b_low = (u32)b, b_high = b >> 32;
	u64 low = a_low * b_low;
	u64 middle = a_high * b_low + (low >> 32);
	u64 cross = a_low * b_high + (u32)middle;

	return (struct product){
		.high = a_high * b_high + (middle >> 32) + (cross >> 32),
		.low = (cross << 32) | (u32)low,
	};
}

/* a * b < c * d, however large. */
static bool product_below(u64 a, u64 b, u64 c, u64 d)
{
	struct product left = multiply(a, b);
	struct product right = multiply(c, d);

	if (left.high != right.high)
		return left.high < right.high;
	return left.low < right.low;
}

/* What is left of the CPU segment in the gap: all of it while no worker has taken it. */
static u64 remaining_gap(const struct ovt_sched_task *holder, u64 now)
{
	u64 whole = holder->segments[holder->segment].time;
	u64 spent;

	if (holder->state == OVT_SCHED_CPU_WAITING)
		return whole;
	spent = now - holder->segment_start;
	return spent < whole ? whole - spent : 0;
}

/* The BPU segment after the gap. */
static u64 next_bpu_time(const struct ovt_sched_task *holder)
{
	u32 segment = holder->segment + 1;

	while (!holder->segments[segment].fc_count)
		segment++;
	return holder->segments[segment].time;
}

/* (bpu - remaining) / next * 100 < threshold, exactly. */
static bool within_threshold(const struct ovt_sched *sched, const struct ovt_sched_task *holder,
			     const struct ovt_sched_task *waiting, u64 now)
{
	u64 remaining = remaining_gap(holder, now);

	if (waiting->bpu_time < remaining)
		return true;
	return product_below(waiting->bpu_time - remaining, 100, next_bpu_time(holder),
			     sched->config.threshold_percent);
}

static bool insert_by_rules(const struct ovt_sched *sched, const struct ovt_sched_task *holder,
			    const struct ovt_sched_task *waiting, u64 now)
{
	return within_threshold(sched, holder, waiting, now) ||
	       waiting->bpu_time < sched->config.insert_max_time ||
	       holder->segments[holder->segment].time > sched->config.wait_dispatch_time;
}

static bool insert_never(const struct ovt_sched *sched, const struct ovt_sched_task *holder,
			 const struct ovt_sched_task *waiting, u64 now)
{
	(void)sched;
	(void)holder;
	(void)waiting;
	(void)now;
	return false;
}

static const struct ovt_sched_policy policies[] = {
	{ .name = "priority", .compare = by_priority, .may_insert = insert_by_rules },
	{ .name = "fifo", .compare = by_arrival, .may_insert = insert_never },
	{ .name = "shortest", .compare = by_bpu_time, .may_insert = insert_by_rules },
	{ .name = "deadline", .compare = by_deadline, .may_insert = insert_by_rules },
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
