// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Gaps: the holders of a core's slots let waiting tasks in while they are on a CPU.
 *
 * A gap has a limit: a task with less BPU time may be inserted.  While the CPU segment runs, the
 * limit falls with the rest of the segment, down to a floor.  So the gaps of a core are kept in two
 * trees, each sorted by limit.  One holds steady limits.  The other holds falling limits, all of
 * which fall alike: it is sorted by the limit plus the present time, which does not change.  A
 * third tree tells which of these reaches its floor next.  The gaps that are open to a task are
 * then counted along one path of each of the first two trees, however many gaps there are.
 */
#include "sched/internal.h"

static struct ovt_sched_gap *gap_of(const struct ovt_tree_node *link)
{
	return ovt_container_of(link, struct ovt_sched_gap, link);
}

static struct ovt_sched_gap *gap_of_turn(const struct ovt_tree_node *turn)
{
	return ovt_container_of(turn, struct ovt_sched_gap, turn);
}

static bool by_limit(const void *context, const struct ovt_tree_node *a,
		     const struct ovt_tree_node *b)
{
	(void)context;
	return ovt_wide_below(gap_of(a)->limit, gap_of(b)->limit);
}

/* Returns when the limit of a falling gap reaches its floor. */
static struct ovt_wide turn_time(const struct ovt_tree_node *turn)
{
	const struct ovt_sched_gap *gap = gap_of_turn(turn);

	return ovt_wide_subtract(gap->limit, gap->floor);
}

static bool by_turn(const void *context, const struct ovt_tree_node *a,
		    const struct ovt_tree_node *b)
{
	(void)context;
	return ovt_wide_below(turn_time(a), turn_time(b));
}

static struct ovt_sched_gaps *gaps_of(const struct ovt_sched_task *holder, u32 core)
{
	return &holder->process->queue->cores[core - 1].gaps;
}

typedef void change_gap(struct ovt_sched_task *holder, struct ovt_sched_gap *gap,
			struct ovt_sched_gaps *gaps, u64 now);

/* Calls @change for the gap of @holder on each of its cores. */
static void change_gaps(struct ovt_sched_task *holder, u64 now, change_gap *change)
{
	struct ovt_sched_gap *gap = holder->span ? holder->span->gaps : &holder->gap;
	u64 left;

	if (!holder->placed_core)
		return;
	for (left = ovt_sched_own_cores(holder); left; left &= left - 1, gap++)
		change(holder, gap, gaps_of(holder, (u32)__builtin_ctzll(left) + 1), now);
}

static void open_gap(struct ovt_sched_task *holder, struct ovt_sched_gap *gap,
		     struct ovt_sched_gaps *gaps, u64 now)
{
	struct ovt_sched *sched = holder->process->queue->sched;
	struct ovt_sched_insertion insertion;
	struct ovt_wide whole = ovt_wide(holder->segments[holder->segment].time);

	(void)now;
	sched->settings.policy->insertion(sched, holder, &insertion);
	gap->floor = ovt_wide_max(insertion.floor, insertion.slack);
	gap->limit = ovt_wide_max(gap->floor, ovt_wide_add(whole, insertion.slack));
	ovt_tree_insert(&gaps->steady, &gap->link, by_limit, NULL, &sched->steps);
}

void ovt_sched_open_gap(struct ovt_sched_task *holder)
{
	if (holder->holds_slot && holder->process->queue->sched->settings.policy->insertion)
		change_gaps(holder, 0, open_gap);
}

static void run_gap(struct ovt_sched_task *holder, struct ovt_sched_gap *gap,
		    struct ovt_sched_gaps *gaps, u64 now)
{
	struct ovt_sched *sched = holder->process->queue->sched;

	if (!ovt_tree_holds(&gap->link) || !ovt_wide_below(gap->floor, gap->limit))
		return;
	ovt_tree_remove(&gaps->steady, &gap->link, &sched->steps);
	gap->limit = ovt_wide_add(gap->limit, ovt_wide(now));
	ovt_tree_insert(&gaps->falling, &gap->link, by_limit, NULL, &sched->steps);
	ovt_tree_insert(&gaps->turns, &gap->turn, by_turn, NULL, &sched->steps);
}

void ovt_sched_run_gap(struct ovt_sched_task *holder, u64 now)
{
	change_gaps(holder, now, run_gap);
}

static void close_gap(struct ovt_sched_task *holder, struct ovt_sched_gap *gap,
		      struct ovt_sched_gaps *gaps, u64 now)
{
	struct ovt_sched *sched = holder->process->queue->sched;

	(void)now;
	if (!ovt_tree_holds(&gap->link))
		return;
	if (!ovt_tree_holds(&gap->turn)) {
		ovt_tree_remove(&gaps->steady, &gap->link, &sched->steps);
		return;
	}
	ovt_tree_remove(&gaps->falling, &gap->link, &sched->steps);
	ovt_tree_remove(&gaps->turns, &gap->turn, &sched->steps);
}

void ovt_sched_close_gap(struct ovt_sched_task *holder)
{
	change_gaps(holder, 0, close_gap);
}

/* Makes gaps steady whose limit has reached its floor. */
static void settle(struct ovt_sched *sched, struct ovt_sched_gaps *gaps, u64 now)
{
	while (!ovt_tree_empty(&gaps->turns)) {
		struct ovt_sched_gap *gap = gap_of_turn(gaps->turns.first);

		if (ovt_wide_below(ovt_wide(now), turn_time(&gap->turn)))
			return;
		ovt_tree_remove(&gaps->turns, &gap->turn, &sched->steps);
		ovt_tree_remove(&gaps->falling, &gap->link, &sched->steps);
		gap->limit = gap->floor;
		ovt_tree_insert(&gaps->steady, &gap->link, by_limit, NULL, &sched->steps);
	}
}

static bool closed_to(const void *time, const struct ovt_tree_node *link)
{
	return !ovt_wide_below(*(const struct ovt_wide *)time, gap_of(link)->limit);
}

u32 ovt_sched_gaps_open_to(struct ovt_sched *sched, struct ovt_sched_gaps *gaps, u64 bpu_time,
			   u64 now)
{
	struct ovt_wide time = ovt_wide(bpu_time);
	struct ovt_wide time_now = ovt_wide_add(time, ovt_wide(now));

	settle(sched, gaps, now);
	return ovt_tree_size(&gaps->steady) + ovt_tree_size(&gaps->falling) -
	       ovt_tree_count(&gaps->steady, closed_to, &time, &sched->steps) -
	       ovt_tree_count(&gaps->falling, closed_to, &time_now, &sched->steps);
}
