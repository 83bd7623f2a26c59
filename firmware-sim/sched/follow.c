// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Following another scheduler: each event changes a task's state, and updates the trees and
 * counters that the scheduler's own decision would update.
 */
#include "sched/follow.h"

#include "sched/internal.h"

/* Adds @count holders on each core of @task. */
static void add_holders(struct ovt_sched_task *task, u32 count)
{
	u64 left;

	for (left = ovt_sched_own_cores(task); left; left &= left - 1)
		task->process->queue->cores[__builtin_ctzll(left)].holders += count;
}

static void take_slot(struct ovt_sched_task *task)
{
	task->holds_slot = true;
	add_holders(task, 1);
}

static void release_slot(struct ovt_sched_task *task)
{
	if (!task->holds_slot)
		return;
	task->holds_slot = false;
	add_holders(task, ~0u);
}

/*
 * Closes the gap of @task, if it is not READY: a READY task has no open gap, and if it spans
 * several cores, the links of its gaps are in the trees `spanning` of these cores.
 */
static void close_gap(struct ovt_sched_task *task)
{
	if (task->state != OVT_SCHED_READY)
		ovt_sched_close_gap(task);
}

/* Takes @task out of its state into OVT_SCHED_BPU, from which the caller moves it on. */
static void leave(struct ovt_sched_task *task)
{
	switch (task->state) {
	case OVT_SCHED_WAITING:
	case OVT_SCHED_READY:
		ovt_sched_leave_waiting(task);
		task->state = OVT_SCHED_BPU;
		break;
	case OVT_SCHED_CPU_WAITING:
		ovt_sched_leave_cpu_waiting(task);
		break;
	case OVT_SCHED_CPU_RUNNING:
		task->process->workers_busy--;
		break;
	default:
		break;
	}
	close_gap(task);
	task->state = OVT_SCHED_BPU;
}

/*
 * Whether @task is in a CPU segment, and has a BPU segment after it.  If events are missing, a task
 * may hold a slot although this is not so.
 */
static bool has_bpu_after_cpu(const struct ovt_sched_task *task)
{
	u32 segment;

	for (segment = task->segment + 1; segment < task->segment_count; segment++) {
		if (task->segments[segment].fc_count)
			return !ovt_sched_next_is_bpu(task);
	}
	return false;
}

static void enter_cpu_waiting(struct ovt_sched_task *task)
{
	task->state = OVT_SCHED_CPU_WAITING;
	ovt_sched_enter_cpu_waiting(task);
	if (has_bpu_after_cpu(task))
		ovt_sched_open_gap(task);
}

void ovt_sched_follow_go(struct ovt_sched_task *task)
{
	leave(task);
}

void ovt_sched_follow_dispatch(struct ovt_sched_task *task, u64 now)
{
	struct ovt_sched *sched = task->process->queue->sched;

	leave(task);
	if (!task->dispatch_sequence) {
		task->dispatch_sequence = ++sched->next_dispatch;
		task->dispatch_time = now;
	}
	if (!task->counted && !ovt_sched_is_high(task))
		ovt_sched_count(task);
	if (!ovt_sched_next_is_bpu(task))
		enter_cpu_waiting(task);
}

void ovt_sched_follow_ready(struct ovt_sched_task *task, u32 core)
{
	leave(task);
	release_slot(task);
	if (core && !task->span && task->placed_core)
		task->placed_core = core;
	else if (core && !task->span)
		task->core = core;
	task->state = OVT_SCHED_READY;
	ovt_sched_enter_waiting(task);
}

void ovt_sched_follow_job(struct ovt_sched_task *task, u32 core, u64 cores)
{
	leave(task);
	if (!(cores & ovt_sched_core_bit(core)) ||
	    (u32)__builtin_popcountll(cores) != ovt_sched_width(task)) {
		release_slot(task);
		task->span = NULL;
	}
	if (task->span ? task->span->cores != cores : task->placed_core != core)
		release_slot(task);
	if (task->span)
		task->span->cores = cores;
	task->placed_core = core;
	if (!task->holds_slot && !ovt_sched_is_high(task))
		take_slot(task);
}

void ovt_sched_follow_cpu(struct ovt_sched_task *task, u32 segment, bool runs, u64 now)
{
	leave(task);
	task->segment = segment;
	enter_cpu_waiting(task);
	if (!runs)
		return;
	ovt_sched_leave_cpu_waiting(task);
	task->state = OVT_SCHED_CPU_RUNNING;
	task->process->workers_busy++;
	ovt_sched_run_gap(task, now);
}

void ovt_sched_follow_release(struct ovt_sched_task *task)
{
	close_gap(task);
	release_slot(task);
	task->bpu_left = 0;
}

void ovt_sched_follow_overdue(struct ovt_sched_task *task)
{
	close_gap(task);
	release_slot(task);
	if (task->counted)
		ovt_sched_discount(task);
}

void ovt_sched_follow_end(struct ovt_sched_task *task)
{
	leave(task);
	release_slot(task);
	if (task->counted)
		ovt_sched_discount(task);
	ovt_list_remove(&task->of_process);
	task->state = OVT_SCHED_ENDED;
}
