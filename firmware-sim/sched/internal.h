/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Declarations that the files of the task scheduler share; hosts include sched/sched.h only. */
#ifndef OVT_SCHED_INTERNAL_H
#define OVT_SCHED_INTERNAL_H

#include "sched/sched.h"

/* Whether the current segment of @task is a BPU segment. */
static inline bool ovt_sched_next_is_bpu(const struct ovt_sched_task *task)
{
	return task->segments[task->segment].fc_count != 0;
}

static inline bool ovt_sched_has_begun_bpu(const struct ovt_sched_task *task)
{
	return task->placed_core != 0;
}

static inline u64 ovt_sched_core_bit(u32 core)
{
	return 1ull << (core - 1);
}

/* Returns the number of cores that @task takes at once. */
static inline u32 ovt_sched_width(const struct ovt_sched_task *task)
{
	return task->span ? task->span->width : 1;
}

/* Returns the cores that @task has, once it is placed. */
static inline u64 ovt_sched_own_cores(const struct ovt_sched_task *task)
{
	return task->span ? task->span->cores : ovt_sched_core_bit(task->placed_core);
}

/* Returns the core on which @task wants a slot; 0: any. */
static inline u32 ovt_sched_wanted_core(const struct ovt_sched_task *task)
{
	return task->placed_core ? task->placed_core : task->core;
}

/* Returns the line of its process in which @task waits for its dispatch; not for priority 255. */
static inline struct ovt_sched_line *ovt_sched_line_of(const struct ovt_sched_task *task)
{
	struct ovt_sched_process *process = task->process;

	if (!ovt_sched_next_is_bpu(task))
		return &process->cpu_first;
	return task->core ? &process->cores[task->core - 1] : &process->any;
}

/* Whether @task takes several cores and has been placed on them. */
static inline bool ovt_sched_is_spanning(const struct ovt_sched_task *task)
{
	return task->span && task->placed_core;
}

/*
 * Returns the tree of tasks that wait for a slot and need no place of the task limit.  A task that
 * spans cores is in the tree of its first core, too.
 */
static inline struct ovt_tree *ovt_sched_ready_tree_of(const struct ovt_sched_task *task)
{
	struct ovt_sched_queue *queue = task->process->queue;
	u32 core = ovt_sched_wanted_core(task);

	if (ovt_sched_is_high(task))
		return &queue->high;
	return core ? &queue->cores[core - 1].wanting.ready : &queue->any.ready;
}

static inline bool ovt_sched_waits_in_line(const struct ovt_sched_task *task)
{
	return task->state == OVT_SCHED_WAITING && !ovt_sched_is_high(task);
}

/* Whether a place of the task limit is kept for @process while it has tasks that wait. */
static inline bool ovt_sched_is_without_place(const struct ovt_sched_process *process)
{
	return process->queue->sched->settings.share && !process->no_kept_place &&
	       !process->dispatched && !process->gone;
}

/* waiting.c: the trees in which tasks wait for their turn. */
bool ovt_sched_goes_before(struct ovt_sched *sched, const struct ovt_sched_task *a,
			   const struct ovt_sched_task *b);
void ovt_sched_enter_waiting(struct ovt_sched_task *task);
void ovt_sched_leave_waiting(struct ovt_sched_task *task);
/* No task in a line of @process is the next to go any more; tasks of 255 are in no line. */
void ovt_sched_withdraw_lines(struct ovt_sched_process *process);
void ovt_sched_enter_cpu_waiting(struct ovt_sched_task *task);
void ovt_sched_leave_cpu_waiting(struct ovt_sched_task *task);
/* Returns the best placed task of @tree, or NULL. */
struct ovt_sched_task *ovt_sched_first(const struct ovt_tree *tree);
/* Returns the best placed task of a tree of lines, or NULL. */
struct ovt_sched_task *ovt_sched_first_in_line(const struct ovt_tree *lines);
/* @task counts for the task limit from now on, or no longer. */
void ovt_sched_count(struct ovt_sched_task *task);
void ovt_sched_discount(struct ovt_sched_task *task);

/* gap.c.  For a task that holds no slot, the first three functions do nothing. */
void ovt_sched_open_gap(struct ovt_sched_task *holder);	/* its CPU segment waits for a worker */
void ovt_sched_run_gap(struct ovt_sched_task *holder, u64 now);		/* it runs */
void ovt_sched_close_gap(struct ovt_sched_task *holder);		/* it is over */
/* Returns the number of gaps into which a task with @bpu_time may be inserted. */
u32 ovt_sched_gaps_open_to(struct ovt_sched *sched, struct ovt_sched_gaps *gaps, u64 bpu_time,
			   u64 now);

/* overdue.c */
/* Returns the time that CPU segments expected to take @cpu_time may take, waits included. */
u64 ovt_sched_cpu_allowance(const struct ovt_sched_settings *settings, u64 cpu_time);
/* From @now on the current CPU segment has its time to end, unless it is overdue already. */
void ovt_sched_watch(struct ovt_sched_task *task, u64 now);
/* Takes the time of the current CPU segment until @now from the allowance. */
void ovt_sched_unwatch(struct ovt_sched_task *task, u64 now);
struct ovt_sched_task *ovt_sched_next_overdue(const struct ovt_sched *sched);	/* NULL: none */

/*
 * dispatch.c.  Returns the next task that may go, or NULL.  Sets *@cores to the cores for its BPU
 * segment, if it begins with one.
 */
struct ovt_sched_task *ovt_sched_first_that_may_go(struct ovt_sched *sched,
						   struct ovt_sched_queue *queue, u64 now,
						   u64 *cores);

#endif
