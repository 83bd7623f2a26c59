/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A task scheduler that follows another one, whose decisions its events tell.
 *
 * It decides nothing: it is put where the other one is, and then says what tasks wait for
 * (sched/waits_for.h).  A host calls ovt_sched_arrive() for each arrival, and what follows for the
 * other events; never ovt_sched_next(), nor any other call of sched.h on a task.
 *
 * Events may be missing.  So every call may come in any state between the arrival and the end, and
 * a task loses what it cannot have any more.  A process's numbers that sched.h offers the host are
 * not kept, nor the times at which tasks become overdue: the other one's events tell.
 *
 * Only user space compiles this.
 */
#ifndef OVT_SCHED_FOLLOW_H
#define OVT_SCHED_FOLLOW_H

#include "sched/sched.h"

/* It was dispatched: it counts for the task limit. */
void ovt_sched_follow_dispatch(struct ovt_sched_task *task, u64 now);
/* It waits for its turn no longer, whatever it does now. */
void ovt_sched_follow_go(struct ovt_sched_task *task);
/* It waits for a slot on @core; 0: on the one that it asked for, or has had. */
void ovt_sched_follow_ready(struct ovt_sched_task *task, u32 core);
/*
 * A job of it went to @core, where it has a slot from now on.  @cores: one bit for each core that
 * it takes, @core among them.  If these are not as many as its span says, it takes @core alone from
 * now on: its events contradict each other.
 */
void ovt_sched_follow_job(struct ovt_sched_task *task, u32 core, u64 cores);
/* It is in @segment, one of its CPU segments: on a worker, or waiting for one. */
void ovt_sched_follow_cpu(struct ovt_sched_task *task, u32 segment, bool runs, u64 now);
/* Its last BPU segment is over: it has no slot any more. */
void ovt_sched_follow_release(struct ovt_sched_task *task);
/* It has neither slot nor place any more. */
void ovt_sched_follow_overdue(struct ovt_sched_task *task);
/* It is over: the scheduler has let go of it. */
void ovt_sched_follow_end(struct ovt_sched_task *task);

#endif
