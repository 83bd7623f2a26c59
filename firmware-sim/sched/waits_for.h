/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Queries of a task scheduler: what a task waits for.  They decide nothing, and change nothing but
 * the count of steps.
 *
 * They are for tools that explain a wait.  Only user space compiles them: the driver does not use
 * them.
 */
#ifndef OVT_SCHED_WAITS_FOR_H
#define OVT_SCHED_WAITS_FOR_H

#include "sched/sched.h"

enum ovt_sched_wait_type {
	OVT_SCHED_WAIT_NONE,	/* for nothing: it runs, is over, or the next calls let it go on */
	OVT_SCHED_WAIT_PLACE,	/* for a place of the task limit, all of which are taken */
	OVT_SCHED_WAIT_KEPT_PLACE,	/* for a place: those left are kept for other processes */
	OVT_SCHED_WAIT_TASK,	/* for its turn behind @ahead, which is better placed */
	OVT_SCHED_WAIT_SLOT,	/* for a slot on one of @cores */
	OVT_SCHED_WAIT_WORKER,	/* for a CPU worker of its process */
};

/**
 * struct ovt_sched_wait - what a task waits for at one moment
 * @type: kind of the thing that it waits for
 * @task: the task that waits
 * @now: the moment
 * @ahead: for WAIT_TASK, the best placed of all tasks that want the same core or worker; for a task
 *	that takes any core, the best placed of such tasks, or if @task is that itself, the best
 *	placed of those that bar a core
 * @cores: for WAIT_SLOT, bit k - 1: core k has no free slot for @task, and one there would help; a
 *	task that takes one core needs one of these slots, another one as many as it lacks
 */
struct ovt_sched_wait {
	enum ovt_sched_wait_type type;
	const struct ovt_sched_task *task;
	u64 now;
	struct ovt_sched_task *ahead;
	u64 cores;
};

enum ovt_sched_obstacle {
	OVT_SCHED_NO_OBSTACLE,
	OVT_SCHED_OBSTACLE,	/* it has what the other waits for */
	OVT_SCHED_CLOSED_GAP,	/* it has a slot, and its gap does not let the other in */
};

/**
 * ovt_sched_waits_for - what a task waits for now
 * @sched: its scheduler, in which only the count of steps changes
 * @task: a task that has arrived
 * @now: no earlier than in any other call
 * @wait: filled with the answer
 *
 * A task waits for one thing at a time: first for a place of the task limit, then until it is the
 * best placed of those that want the same, then for a slot.  After ovt_sched_next() has returned
 * false, no task that waits has WAIT_NONE, except tasks of a process that is being abandoned.
 *
 * Takes steps for each core, and for each gap on the cores that it names.
 */
void ovt_sched_waits_for(struct ovt_sched *sched, const struct ovt_sched_task *task, u64 now,
			 struct ovt_sched_wait *wait);

/**
 * ovt_sched_obstacle_of - whether a task has what another waits for
 * @wait: an answer of ovt_sched_waits_for(), since which nothing has happened
 * @other: any task of the same scheduler
 *
 * The scheduler has no lists of the tasks that hold something: a host calls this for each of its
 * tasks that may be an obstacle.  The obstacles of WAIT_PLACE and WAIT_KEPT_PLACE are the tasks
 * that count for the limit; of WAIT_SLOT, the tasks that hold a slot on one of the cores and do not
 * let the task in; of WAIT_WORKER, the tasks that run on the workers; of WAIT_TASK, the task that
 * is ahead.
 */
enum ovt_sched_obstacle ovt_sched_obstacle_of(const struct ovt_sched_wait *wait,
					      const struct ovt_sched_task *other);

/**
 * ovt_sched_waits_among - the tasks that wait together with a task for the same thing
 * @task: a task that waits for its dispatch, or is ready
 *
 * Returns: a tree of tasks by &ovt_sched_task.link, best placed first, which exists as long as the
 * queue.  The tasks differ in their place only: all but the first have the same answer.
 */
const struct ovt_tree *ovt_sched_waits_among(const struct ovt_sched_task *task);

#endif
