/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A look at the tasks of a queue: which task is first for which slot, given the task limit.
 *
 * The code that decides (dispatch.c) and the code that explains (waits_for.c) look in the same way.
 */
#ifndef OVT_SCHED_LOOK_H
#define OVT_SCHED_LOOK_H

#include "sched/internal.h"

struct ovt_sched_look {
	struct ovt_sched *sched;
	struct ovt_sched_queue *queue;
	u64 now;
	bool full;			/* the task limit is reached */
	bool rest_kept;			/* all places of the limit that are left are kept */
};

static inline struct ovt_sched_look ovt_sched_look(struct ovt_sched *sched,
						   struct ovt_sched_queue *queue, u64 now)
{
	return (struct ovt_sched_look){
		.sched = sched,
		.queue = queue,
		.now = now,
		.full = queue->dispatched >= sched->settings.task_limit,
		.rest_kept = (u64)queue->dispatched + queue->places_kept >=
			     sched->settings.task_limit,
	};
}

static inline u64 ovt_sched_all_cores(const struct ovt_sched *sched)
{
	return ~0ull >> (OVT_SCHED_MAX_CORES - sched->core_count);
}

/* Returns the cores to which @task, which names none, may go. */
static inline u64 ovt_sched_cores_of(const struct ovt_sched *sched,
				     const struct ovt_sched_task *task)
{
	u64 all = ovt_sched_all_cores(sched);

	return sched->cores_of ? sched->cores_of(task) & all : all;
}

static inline bool ovt_sched_is_better(const struct ovt_sched_look *look,
				       const struct ovt_sched_task *task,
				       const struct ovt_sched_task *than)
{
	return task && (!than || ovt_sched_goes_before(look->sched, task, than));
}

/* Returns the best placed task in @lines for which the task limit has a place, or NULL. */
static inline struct ovt_sched_task *
ovt_sched_first_with_room(const struct ovt_sched_look *look, const struct ovt_sched_lines *lines)
{
	struct ovt_sched_task *more =
		look->rest_kept ? NULL : ovt_sched_first_in_line(&lines->more);
	struct ovt_sched_task *first_place =
		look->full ? NULL : ovt_sched_first_in_line(&lines->first_place);

	return ovt_sched_is_better(look, first_place, more) ? first_place : more;
}

/* Returns the best placed task that wants a slot and waits for nothing else, or NULL. */
static inline struct ovt_sched_task *
ovt_sched_first_for_slot(const struct ovt_sched_look *look, const struct ovt_sched_wanting *wanting)
{
	struct ovt_sched_task *ready = ovt_sched_first(&wanting->ready);
	struct ovt_sched_task *waiting = ovt_sched_first_with_room(look, &wanting->waiting);

	return ovt_sched_is_better(look, ready, waiting) ? ready : waiting;
}

/* The same among tasks that want @core, either alone or with other cores that they have had. */
static inline struct ovt_sched_task *ovt_sched_first_for_core(const struct ovt_sched_look *look,
							      u32 core)
{
	const struct ovt_sched_queue_core *of = &look->queue->cores[core - 1];
	struct ovt_sched_task *first = ovt_sched_first_for_slot(look, &of->wanting);
	struct ovt_sched_task *spanning;

	if (ovt_tree_empty(&of->spanning))
		return first;
	spanning = ovt_container_of(of->spanning.first, struct ovt_sched_gap, link)->holder;
	return spanning != first && ovt_sched_is_better(look, spanning, first) ? spanning : first;
}

#endif
