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

/* dispatch.c */
u32 ovt_sched_least_loaded(const struct ovt_sched *sched);
/* NULL: none may.  @core: where its BPU segment goes, if that is what it begins with. */
struct ovt_sched_task *ovt_sched_first_that_may_go(struct ovt_sched *sched,
						   struct ovt_sched_queue *queue, u64 now,
						   u32 *core);

#endif
