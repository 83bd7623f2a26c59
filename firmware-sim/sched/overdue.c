// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Overdue CPU segments: which one is overdue next, and when.
 *
 * Each CPU segment has its limit twice: for the wait for a worker and for the work of the worker.
 * So neither a process that has stopped nor one whose workers are busy holds anything for long.
 * All CPU segments of a task together have an allowance, so that a task of many segments, each of
 * which ends just in time, holds nothing for longer than a task of few.
 */
#include "sched/internal.h"

static bool overdue_before(const void *context, const struct ovt_tree_node *a,
			   const struct ovt_tree_node *b)
{
	(void)context;
	return ovt_container_of(a, struct ovt_sched_task, overdue_link)->overdue_time <
	       ovt_container_of(b, struct ovt_sched_task, overdue_link)->overdue_time;
}

static u64 product(u64 a, u64 b)
{
	u64 result;

	return __builtin_mul_overflow(a, b, &result) ? ~0ull : result;
}

/* Returns the limit for work that is expected to take @time, at least @least. */
static u64 limit_for(const struct ovt_sched_settings *settings, u64 time, u64 least)
{
	u64 limit = product(time, settings->overdue_factor);

	return limit > least ? limit : least;
}

/* Returns the time for which the current CPU segment may wait for a worker, and then run. */
static u64 overdue_limit(const struct ovt_sched_settings *settings,
			 const struct ovt_sched_task *task)
{
	u64 limit = limit_for(settings, task->segments[task->segment].time,
			      settings->overdue_min_time);

	return limit < task->cpu_allowance ? limit : task->cpu_allowance;
}

u64 ovt_sched_cpu_allowance(const struct ovt_sched_settings *settings, u64 cpu_time)
{
	return product(2, limit_for(settings, cpu_time,
				    product(OVT_SCHED_SHORT_SEGMENTS, settings->overdue_min_time)));
}

void ovt_sched_unwatch(struct ovt_sched_task *task, u64 now)
{
	struct ovt_sched *sched = task->process->queue->sched;
	u64 took = now - task->watched_since;

	if (!ovt_tree_holds(&task->overdue_link))
		return;
	ovt_tree_remove(&sched->overdue_next, &task->overdue_link, &sched->steps);
	if (task->cpu_allowance != ~0ull) /* ~0: any time */
		task->cpu_allowance -= took < task->cpu_allowance ? took : task->cpu_allowance;
}

void ovt_sched_watch(struct ovt_sched_task *task, u64 now)
{
	struct ovt_sched *sched = task->process->queue->sched;

	ovt_sched_unwatch(task, now);
	if (!sched->settings.overdue_min_time || task->overdue)
		return;
	if (__builtin_add_overflow(now, overdue_limit(&sched->settings, task), &task->overdue_time))
		return;
	task->watched_since = now;
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
