// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which CPU segment is overdue next.
 *
 * Each has its time twice: for the wait for a worker and for what the worker does.  So neither a
 * process that has stopped nor one whose workers have other things to do holds anything for long.
 */
#include "sched/internal.h"

static bool overdue_before(const void *context, const struct ovt_tree_node *a,
			   const struct ovt_tree_node *b)
{
	(void)context;
	return ovt_container_of(a, struct ovt_sched_task, overdue_link)->overdue_time <
	       ovt_container_of(b, struct ovt_sched_task, overdue_link)->overdue_time;
}

/* How long the current CPU segment may wait for a worker, and run. */
static u64 overdue_limit(const struct ovt_sched_config *config, const struct ovt_sched_task *task)
{
	u64 limit;

	if (__builtin_mul_overflow(task->segments[task->segment].time, config->overdue_factor,
				   &limit))
		return ~0ull;
	return limit > config->overdue_min_time ? limit : config->overdue_min_time;
}

void ovt_sched_unwatch(struct ovt_sched_task *task)
{
	struct ovt_sched *sched = task->process->queue->sched;

	if (ovt_tree_holds(&task->overdue_link))
		ovt_tree_remove(&sched->overdue_next, &task->overdue_link, &sched->steps);
}

void ovt_sched_watch(struct ovt_sched_task *task, u64 now)
{
	struct ovt_sched *sched = task->process->queue->sched;

	ovt_sched_unwatch(task);
	if (!sched->config.overdue_min_time || task->overdue)
		return;
	if (__builtin_add_overflow(now, overdue_limit(&sched->config, task), &task->overdue_time))
		return;
	ovt_tree_insert(&sched->overdue_next, &task->overdue_link, overdue_before, NULL,
			&sched->steps);
}

struct ovt_sched_task *ovt_sched_next_overdue(const struct ovt_sched *sched)
{
	if (ovt_tree_empty(&sched->overdue_next))
		return NULL;
	return ovt_container_of(sched->overdue_next.first, struct ovt_sched_task, overdue_link);
}

u64 ovt_sched_next_time(const struct ovt_sched *sched)
{
	const struct ovt_sched_task *task = ovt_sched_next_overdue(sched);

	return task ? task->overdue_time : ~0ull;
}
