// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Finds what a task waits for, by the rules of dispatch.c, from the side of the task. */
#include "sched/waits_for.h"

#include "sched/look.h"

/* Whether a task with @bpu_time may be inserted into @gap, which sched/gap.c may have to settle. */
static bool lets_in(const struct ovt_sched_gap *gap, u64 bpu_time, u64 now)
{
	struct ovt_wide time = ovt_wide(bpu_time);

	if (!ovt_tree_holds(&gap->turn))
		return ovt_wide_below(time, gap->limit);
	return ovt_wide_below(time, gap->floor) ||
	       ovt_wide_below(ovt_wide_add(time, ovt_wide(now)), gap->limit);
}

static u32 count_open(const struct ovt_sched_look *look, const struct ovt_tree *gaps, u64 bpu_time)
{
	struct ovt_tree_node *link;
	u32 open = 0;

	for (link = gaps->first; link; link = ovt_tree_next(link)) {
		look->sched->steps++;
		open += lets_in(ovt_container_of(link, struct ovt_sched_gap, link), bpu_time,
				look->now);
	}
	return open;
}

static bool has_free_slot(const struct ovt_sched_look *look, const struct ovt_sched_task *task,
			  u32 number)
{
	const struct ovt_sched_queue_core *core = &look->queue->cores[number - 1];
	u32 slots = look->sched->settings.slots;

	look->sched->steps++;
	return core->holders < slots ||
	       core->holders - count_open(look, &core->gaps.steady, task->bpu_time) -
	       count_open(look, &core->gaps.falling, task->bpu_time) < slots;
}

static void wait_behind(struct ovt_sched_wait *wait, struct ovt_sched_task *ahead)
{
	wait->type = OVT_SCHED_WAIT_TASK;
	wait->ahead = ahead;
}

/* The task is first for each of @cores, which are not barred, and wants as many as its width. */
static void wait_for_any_slots(const struct ovt_sched_look *look, struct ovt_sched_wait *wait,
			       u64 cores)
{
	u32 needed = ovt_sched_width(wait->task);
	u64 left;

	for (left = cores; left; left &= left - 1) {
		u32 core = (u32)__builtin_ctzll(left) + 1;

		if (!has_free_slot(look, wait->task, core))
			continue;
		cores &= ~ovt_sched_core_bit(core);
		if (!--needed)
			return;
	}
	wait->type = OVT_SCHED_WAIT_SLOT;
	wait->cores = cores;
}

/* The task is first for each of @cores, and wants all of them. */
static void wait_for_slots(const struct ovt_sched_look *look, struct ovt_sched_wait *wait,
			   u64 cores)
{
	u64 left;

	for (left = cores; left; left &= left - 1) {
		u32 core = (u32)__builtin_ctzll(left) + 1;

		if (has_free_slot(look, wait->task, core))
			cores &= ~ovt_sched_core_bit(core);
	}
	if (!cores)
		return;
	wait->type = OVT_SCHED_WAIT_SLOT;
	wait->cores = cores;
}

/*
 * A better placed task that wants one of @cores bars the task, and so does one that takes any core.
 * @cores: the core that the task named or has had, or several cores that it has had.
 */
static void wait_for_cores(const struct ovt_sched_look *look, struct ovt_sched_wait *wait,
			   u64 cores)
{
	struct ovt_sched_task *any = ovt_sched_first_for_slot(look, &look->queue->any);
	struct ovt_sched_task *first = NULL;
	u64 left;

	if (any && (ovt_sched_cores_of(look->sched, any) & cores))
		first = any;
	for (left = cores; left; left &= left - 1) {
		struct ovt_sched_task *of_core =
			ovt_sched_first_for_core(look, (u32)__builtin_ctzll(left) + 1);

		if (ovt_sched_is_better(look, of_core, first))
			first = of_core;
	}
	if (ovt_sched_is_better(look, first, wait->task))
		wait_behind(wait, first);
	else
		wait_for_slots(look, wait, cores);
}

/* The task takes any core that no better placed task bars, or as many of these as its width. */
static void wait_for_any_core(const struct ovt_sched_look *look, struct ovt_sched_wait *wait)
{
	struct ovt_sched_task *ahead = ovt_sched_first_for_slot(look, &look->queue->any);
	u64 cores = ovt_sched_cores_of(look->sched, wait->task);
	u64 left = (look->queue->cores_ready | look->queue->cores_waiting) & cores;

	if (ovt_sched_is_better(look, ahead, wait->task)) {
		wait_behind(wait, ahead);
		return;
	}
	for (ahead = NULL; left; left &= left - 1) {
		u32 core = (u32)__builtin_ctzll(left) + 1;
		struct ovt_sched_task *first = ovt_sched_first_for_core(look, core);

		if (!ovt_sched_is_better(look, first, wait->task))
			continue;
		cores &= ~ovt_sched_core_bit(core);
		if (ovt_sched_is_better(look, first, ahead))
			ahead = first;
	}
	if ((u32)__builtin_popcountll(cores) >= ovt_sched_width(wait->task))
		wait_for_any_slots(look, wait, cores);
	else
		wait_behind(wait, ahead);
}

static void wait_on_cores(const struct ovt_sched_look *look, struct ovt_sched_wait *wait)
{
	u32 core = ovt_sched_wanted_core(wait->task);

	if (ovt_sched_is_spanning(wait->task))
		wait_for_cores(look, wait, ovt_sched_own_cores(wait->task));
	else if (core)
		wait_for_cores(look, wait, ovt_sched_core_bit(core));
	else
		wait_for_any_core(look, wait);
}

/* A CPU segment needs nothing but its turn. */
static void wait_for_turn(const struct ovt_sched_look *look, struct ovt_sched_wait *wait)
{
	struct ovt_sched_task *first = ovt_sched_first_with_room(look, &look->queue->cpu_first);

	if (ovt_sched_is_better(look, first, wait->task))
		wait_behind(wait, first);
}

static void wait_for_dispatch(const struct ovt_sched_look *look, struct ovt_sched_wait *wait)
{
	if (look->full)
		wait->type = OVT_SCHED_WAIT_PLACE;
	else if (look->rest_kept && !ovt_sched_is_without_place(wait->task->process))
		wait->type = OVT_SCHED_WAIT_KEPT_PLACE;
	else if (ovt_sched_next_is_bpu(wait->task))
		wait_on_cores(look, wait);
	else
		wait_for_turn(look, wait);
}

static void wait_for_worker(struct ovt_sched_wait *wait)
{
	const struct ovt_sched_process *process = wait->task->process;
	struct ovt_sched_task *first = ovt_sched_first(&process->cpu_waiting);

	if (process->workers_busy >= process->worker_count)
		wait->type = OVT_SCHED_WAIT_WORKER;
	else if (first != wait->task)
		wait_behind(wait, first);
}

void ovt_sched_waits_for(struct ovt_sched *sched, const struct ovt_sched_task *task, u64 now,
			 struct ovt_sched_wait *wait)
{
	const struct ovt_sched_look look = ovt_sched_look(sched, task->process->queue, now);

	*wait = (struct ovt_sched_wait){ .type = OVT_SCHED_WAIT_NONE, .task = task, .now = now };
	if (task->process->gone)
		return;
	if (task->state == OVT_SCHED_CPU_WAITING)
		wait_for_worker(wait);
	else if (ovt_sched_is_high(task))
		return; /* a task of 255 waits for no slot */
	else if (task->state == OVT_SCHED_WAITING)
		wait_for_dispatch(&look, wait);
	else if (task->state == OVT_SCHED_READY)
		wait_on_cores(&look, wait);
}

static enum ovt_sched_obstacle obstacle_if(bool is_one)
{
	return is_one ? OVT_SCHED_OBSTACLE : OVT_SCHED_NO_OBSTACLE;
}

static enum ovt_sched_obstacle slot_of(const struct ovt_sched_wait *wait,
				       const struct ovt_sched_task *other)
{
	const struct ovt_sched_gap *gap = other->span ? other->span->gaps : &other->gap;

	if (!other->holds_slot || !(wait->cores & ovt_sched_own_cores(other)))
		return OVT_SCHED_NO_OBSTACLE;
	if (!ovt_sched_in_gap(other))
		return OVT_SCHED_OBSTACLE;
	/* All gaps of a task are alike. */
	if (ovt_tree_holds(&gap->link) && lets_in(gap, wait->task->bpu_time, wait->now))
		return OVT_SCHED_NO_OBSTACLE;
	return OVT_SCHED_CLOSED_GAP;
}

enum ovt_sched_obstacle ovt_sched_obstacle_of(const struct ovt_sched_wait *wait,
					      const struct ovt_sched_task *other)
{
	const struct ovt_sched_process *process = wait->task->process;

	if (other->process->queue != process->queue)
		return OVT_SCHED_NO_OBSTACLE;
	switch (wait->type) {
	case OVT_SCHED_WAIT_PLACE:
	case OVT_SCHED_WAIT_KEPT_PLACE:
		return obstacle_if(other->counted);
	case OVT_SCHED_WAIT_TASK:
		return obstacle_if(other == wait->ahead);
	case OVT_SCHED_WAIT_SLOT:
		return slot_of(wait, other);
	case OVT_SCHED_WAIT_WORKER:
		return obstacle_if(other->process == process &&
				   other->state == OVT_SCHED_CPU_RUNNING);
	default:
		return OVT_SCHED_NO_OBSTACLE;
	}
}

const struct ovt_tree *ovt_sched_waits_among(const struct ovt_sched_task *task)
{
	return ovt_sched_waits_in_line(task) ? &ovt_sched_line_of(task)->tasks :
					       ovt_sched_ready_tree_of(task);
}
