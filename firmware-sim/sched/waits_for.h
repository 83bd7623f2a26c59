/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What a task waits for: questions to a task scheduler, which decide nothing and change nothing.
 *
 * They are for tools that explain a wait.  Only user space compiles them: the driver has no use for
 * them.
 */
#ifndef OVT_SCHED_WAITS_FOR_H
#define OVT_SCHED_WAITS_FOR_H

#include "sched/sched.h"

enum ovt_sched_wait_type {
	OVT_SCHED_WAIT_NONE,	/* for nothing: it runs, is over, or the next calls let it go on */
	OVT_SCHED_WAIT_PLACE,	/* for a place of the task limit, all of which are taken */
	OVT_SCHED_WAIT_KEPT_PLACE,	/* the same: those left are kept for other processes */
	OVT_SCHED_WAIT_TASK,	/* for its turn behind @ahead, which is better placed */
	OVT_SCHED_WAIT_SLOT,	/* for a slot on one of @cores */
	OVT_SCHED_WAIT_WORKER,	/* for a CPU worker of its process */
};

/**
 * struct ovt_sched_wait - what a task waits for at one moment
 * @type: what
 * @task: the one that waits
 * @now: when
 * @ahead: of WAIT_TASK, the best placed of all that want the same core or worker; of a task that
 *	takes any core, the best placed of such tasks, or if it is that itself, of those that bar
 *	a core
 * @cores: of WAIT_SLOT, bit k - 1: a slot on core k would do; of a task that takes several cores,
 *	would be one of those that it lacks
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
	OVT_SCHED_CLOSED_GAP,	/* the same: a slot, of which its gap does not let the other use */
};

/**
 * ovt_sched_waits_for - what a task waits for now
 * @sched: its scheduler, of which only the count of steps changes
 * @task: one that has arrived
 * @now: no earlier than in any other call
 * @wait: filled with the answer
 *
 * A task waits for one thing at a time: first for a place of the task limit, then until it is the
 * best placed of those that want the same, then for a slot.  After ovt_sched_next() has returned
 * false, WAIT_NONE is said of no task that waits, except of a process that is being abandoned.
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
 * The scheduler has no lists of who holds what: a host asks this of each of its tasks that may.  Of
 * WAIT_PLACE and WAIT_KEPT_PLACE these are the tasks that count for the limit, of WAIT_SLOT those
 * that hold a slot on one of the cores and do not let the task in, of WAIT_WORKER those that run on
 * the workers, of WAIT_TASK the one that is ahead.
 */
enum ovt_sched_obstacle ovt_sched_obstacle_of(const struct ovt_sched_wait *wait,
					      const struct ovt_sched_task *other);

/**
 * ovt_sched_waits_among - the tasks that wait beside a task for the same
 * @task: one that waits for its dispatch, or is ready
 *
 * Returns: a tree of tasks by &ovt_sched_task.link, best placed first, that is in place as long as
 * the queue.  They differ in their place only: all of them but the first have the same answer.
 */
const struct ovt_tree *ovt_sched_waits_among(const struct ovt_sched_task *task);

#endif
