/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What the files of the task scheduler share; hosts include sched/sched.h only. */
#ifndef OVT_SCHED_INTERNAL_H
#define OVT_SCHED_INTERNAL_H

#include "sched/sched.h"

/* The segment that @task would begin with now. */
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

/* Those that it takes at once. */
static inline u32 ovt_sched_width(const struct ovt_sched_task *task)
{
	return task->span ? task->span->width : 1;
}

/* Those that it has, once it is placed. */
static inline u64 ovt_sched_own_cores(const struct ovt_sched_task *task)
{
	return task->span ? task->span->cores : ovt_sched_core_bit(task->placed_core);
}

/* The core on which it wants a slot; 0: any. */
static inline u32 ovt_sched_wanted_core(const struct ovt_sched_task *task)
{
	return task->placed_core ? task->placed_core : task->core;
}

/* The line of its process in which it waits for its dispatch; of no task with priority 255. */
static inline struct ovt_sched_line *ovt_sched_line_of(const struct ovt_sched_task *task)
{
	struct ovt_sched_process *process = task->process;

	if (!ovt_sched_next_is_bpu(task))
		return &process->cpu_first;
	return task->core ? &process->cores[task->core - 1] : &process->any;
}

/* It wants several cores that it has had. */
static inline bool ovt_sched_is_spanning(const struct ovt_sched_task *task)
{
	return task->span && task->placed_core;
}

/*
 * Of those who wait for a place in the queue and for nothing else that is counted.  A task that
 * spans cores is in that of its first core, too.
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

/* A place of the task limit is kept for the process if it waits. */
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
/* None of the process's tasks that wait for their dispatch is the next to go any more. */
void ovt_sched_withdraw_lines(struct ovt_sched_process *process);
void ovt_sched_enter_cpu_waiting(struct ovt_sched_task *task);
void ovt_sched_leave_cpu_waiting(struct ovt_sched_task *task);
/* The best placed one; NULL: none. */
struct ovt_sched_task *ovt_sched_first(const struct ovt_tree *tree);
/* Of a tree of lines. */
struct ovt_sched_task *ovt_sched_first_in_line(const struct ovt_tree *lines);
/* @task counts for the task limit from now on, or no longer. */
void ovt_sched_count(struct ovt_sched_task *task);
void ovt_sched_discount(struct ovt_sched_task *task);

/* gap.c: of those who hold a slot; of others the three do nothing. */
void ovt_sched_open_gap(struct ovt_sched_task *holder);	/* its CPU segment waits for a worker */
void ovt_sched_run_gap(struct ovt_sched_task *holder, u64 now);		/* runs */
void ovt_sched_close_gap(struct ovt_sched_task *holder);		/* is over */
/* Into how many a task with @bpu_time may be inserted. */
u32 ovt_sched_gaps_open_to(struct ovt_sched *sched, struct ovt_sched_gaps *gaps, u64 bpu_time,
			   u64 now);

/* overdue.c */
/* What a task may spend in CPU segments, waits for workers included, that take @cpu_time. */
u64 ovt_sched_cpu_allowance(const struct ovt_sched_settings *settings, u64 cpu_time);
/* From @now the current CPU segment has its time to end, unless it is overdue already. */
void ovt_sched_watch(struct ovt_sched_task *task, u64 now);
/* Its time until @now is taken from the allowance. */
void ovt_sched_unwatch(struct ovt_sched_task *task, u64 now);
struct ovt_sched_task *ovt_sched_next_overdue(const struct ovt_sched *sched);	/* NULL: none */

/* dispatch.c: NULL: none may.  @cores: where its BPU segment may go, if it begins with one. */
struct ovt_sched_task *ovt_sched_first_that_may_go(struct ovt_sched *sched,
						   struct ovt_sched_queue *queue, u64 now,
						   u64 *cores);

#endif
