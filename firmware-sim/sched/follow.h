/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A task scheduler that follows another one by the events that report its decisions.
 *
 * The follower decides nothing: the host puts it into the state of the other one, and then asks it
 * for the waits of tasks (sched/waits_for.h).  The host calls ovt_sched_arrive() for each arrival,
 * and the functions below for other events; never ovt_sched_next(), nor any other call of sched.h
 * on a task.
 *
 * Events may be missing.  So every call may come in any state between the arrival and the end, and
 * a task loses what it cannot have any more.  The numbers of a process that sched.h offers the host
 * are not kept, nor the times at which tasks become overdue: events of the other one report these.
 *
 * Only user space compiles this.
 */
#ifndef OVT_SCHED_FOLLOW_H
#define OVT_SCHED_FOLLOW_H

#include "sched/sched.h"

/* @task was dispatched: it counts for the task limit. */
void ovt_sched_follow_dispatch(struct ovt_sched_task *task, u64 now);
/* @task waits for its turn no longer, whatever it does now. */
void ovt_sched_follow_go(struct ovt_sched_task *task);
/* @task waits for a slot on @core; 0: on the core that it asked for, or has had. */
void ovt_sched_follow_ready(struct ovt_sched_task *task, u32 core);
/*
 * A job of @task went to @core, where it has a slot from now on.  @cores: one bit for each core
 * that it takes, @core among them.  If their number is not the width of its span, it takes @core
 * alone from now on: its events contradict each other.
 */
void ovt_sched_follow_job(struct ovt_sched_task *task, u32 core, u64 cores);
/* @task is in @segment, one of its CPU segments: on a worker, or waiting for one. */
void ovt_sched_follow_cpu(struct ovt_sched_task *task, u32 segment, bool runs, u64 now);
/* The last BPU segment of @task is over: it has no slot any more. */
void ovt_sched_follow_release(struct ovt_sched_task *task);
/* @task is overdue: it has neither slot nor place any more. */
void ovt_sched_follow_overdue(struct ovt_sched_task *task);
/* @task is over: the scheduler refers to it no more. */
void ovt_sched_follow_end(struct ovt_sched_task *task);

#endif
