// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Trees in which tasks wait: sorted by the policy, then by arrival, for CPU workers by dispatch.
 *
 * Tasks of a queue are kept apart by what they wait for.  So a task that may not go holds up a tree
 * of similar tasks, and no walk passes all others: sched/dispatch.c compares the first of each.
 */
#include "sched/internal.h"

static const struct ovt_sched_task *task_of(const struct ovt_tree_node *node)
{
	return ovt_container_of(node, struct ovt_sched_task, link);
}

bool ovt_sched_goes_before(struct ovt_sched *sched, const struct ovt_sched_task *a,
			   const struct ovt_sched_task *b)
{
	int order = sched->settings.policy->compare(a, b);

	sched->steps++;
	return order ? order < 0 : a->arrival_sequence < b->arrival_sequence;
}

static bool comes_before(const void *policy, const struct ovt_tree_node *a,
			 const struct ovt_tree_node *b)
{
	int order = ((const struct ovt_sched_policy *)policy)->compare(task_of(a), task_of(b));

	return order ? order < 0 : task_of(a)->arrival_sequence < task_of(b)->arrival_sequence;
}

static bool by_dispatch(const void *policy, const struct ovt_tree_node *a,
			const struct ovt_tree_node *b)
{
	int order = ((const struct ovt_sched_policy *)policy)->compare(task_of(a), task_of(b));

	return order ? order < 0 : task_of(a)->dispatch_sequence < task_of(b)->dispatch_sequence;
}

/*
 * Lines.  Tasks that are not dispatched are sorted twice: in a line of their process, and the lines
 * by their first task.  So when a process gets or loses a place of the task limit, all its tasks
 * move in as many steps as it has lines.
 */

static const struct ovt_sched_line *line_at(const struct ovt_tree_node *link)
{
	return ovt_container_of(link, struct ovt_sched_line, link);
}

static bool line_before(const void *policy, const struct ovt_tree_node *a,
			const struct ovt_tree_node *b)
{
	return comes_before(policy, line_at(a)->tasks.first, line_at(b)->tasks.first);
}

static struct ovt_sched_lines *lines_of(const struct ovt_sched_task *task)
{
	struct ovt_sched_queue *queue = task->process->queue;

	if (!ovt_sched_next_is_bpu(task))
		return &queue->cpu_first;
	return task->core ? &queue->cores[task->core - 1].wanting.waiting : &queue->any.waiting;
}

static struct ovt_tree *tree_of_line(const struct ovt_sched_process *process,
				     struct ovt_sched_lines *lines)
{
	return ovt_sched_is_without_place(process) ? &lines->first_place : &lines->more;
}

static void insert_line(struct ovt_sched_process *process, struct ovt_sched_lines *lines,
			struct ovt_sched_line *line)
{
	struct ovt_sched *sched = process->queue->sched;

	if (!ovt_tree_empty(&line->tasks) && !process->gone)
		ovt_tree_insert(tree_of_line(process, lines), &line->link, line_before,
				sched->settings.policy, &sched->steps);
}

static void remove_line(struct ovt_sched_process *process, struct ovt_sched_lines *lines,
			struct ovt_sched_line *line)
{
	if (ovt_tree_holds(&line->link))
		ovt_tree_remove(tree_of_line(process, lines), &line->link,
				&process->queue->sched->steps);
}

typedef void move_line(struct ovt_sched_process *process, struct ovt_sched_lines *lines,
		       struct ovt_sched_line *line);

static void move_lines(struct ovt_sched_process *process, move_line *move)
{
	struct ovt_sched_queue *queue = process->queue;
	u64 left;

	move(process, &queue->cpu_first, &process->cpu_first);
	move(process, &queue->any.waiting, &process->any);
	for (left = process->cores_waiting; left; left &= left - 1) {
		u32 core = (u32)__builtin_ctzll(left) + 1;

		move(process, &queue->cores[core - 1].wanting.waiting, &process->cores[core - 1]);
	}
}

/* Counts places.  With its first place, or without its last, a process's lines change trees. */
static void change_places(struct ovt_sched_process *process, u32 dispatched)
{
	struct ovt_sched_queue *queue = process->queue;
	bool kept = ovt_sched_is_without_place(process) && process->waiting;

	queue->dispatched += dispatched - process->dispatched;
	if (queue->sched->settings.share && !process->no_kept_place &&
	    !process->dispatched != !dispatched) {
		move_lines(process, remove_line);
		process->dispatched = dispatched;
		move_lines(process, insert_line);
	}
	process->dispatched = dispatched;
	queue->places_kept += (ovt_sched_is_without_place(process) && process->waiting) - kept;
}

void ovt_sched_count(struct ovt_sched_task *task)
{
	task->counted = true;
	change_places(task->process, task->process->dispatched + 1);
}

void ovt_sched_discount(struct ovt_sched_task *task)
{
	task->counted = false;
	change_places(task->process, task->process->dispatched - 1);
}

static u64 with_bit(u64 bits, u64 bit, bool set)
{
	return set ? bits | bit : bits & ~bit;
}

static void note_queue_core(struct ovt_sched_queue *queue, u32 core)
{
	struct ovt_sched_lines *lines = &queue->cores[core - 1].wanting.waiting;

	queue->cores_waiting = with_bit(queue->cores_waiting, ovt_sched_core_bit(core),
					!ovt_tree_empty(&lines->first_place) ||
					!ovt_tree_empty(&lines->more));
}

static void note_waiting_core(struct ovt_sched_task *task)
{
	struct ovt_sched_process *process = task->process;

	if (!ovt_sched_next_is_bpu(task) || !task->core)
		return;
	process->cores_waiting = with_bit(process->cores_waiting, ovt_sched_core_bit(task->core),
					  !ovt_tree_empty(&ovt_sched_line_of(task)->tasks));
	note_queue_core(process->queue, task->core);
}

void ovt_sched_withdraw_lines(struct ovt_sched_process *process)
{
	struct ovt_sched_queue *queue = process->queue;
	u64 left;

	queue->places_kept -= ovt_sched_is_without_place(process) && process->waiting;
	move_lines(process, remove_line);
	for (left = process->cores_waiting; left; left &= left - 1)
		note_queue_core(queue, (u32)__builtin_ctzll(left) + 1);
}

/* Adds @task to its line, or removes it; the line is sorted anew by its first task. */
static void change_line(struct ovt_sched_task *task, bool comes)
{
	struct ovt_sched_process *process = task->process;
	struct ovt_sched *sched = process->queue->sched;
	struct ovt_sched_line *line = ovt_sched_line_of(task);
	u32 kept = ovt_sched_is_without_place(process) && process->waiting;

	remove_line(process, lines_of(task), line);
	if (comes)
		ovt_tree_insert(&line->tasks, &task->link, comes_before, sched->settings.policy,
				&sched->steps);
	else
		ovt_tree_remove(&line->tasks, &task->link, &sched->steps);
	insert_line(process, lines_of(task), line);
	process->waiting += comes ? 1u : ~0u;
	process->queue->places_kept +=
		(ovt_sched_is_without_place(process) && process->waiting) - kept;
	note_waiting_core(task);
}

static bool spanning_before(const void *policy, const struct ovt_tree_node *a,
			    const struct ovt_tree_node *b)
{
	return comes_before(policy, &ovt_container_of(a, struct ovt_sched_gap, link)->holder->link,
			    &ovt_container_of(b, struct ovt_sched_gap, link)->holder->link);
}

static void note_ready(struct ovt_sched_queue *queue, u32 core)
{
	const struct ovt_sched_queue_core *of = &queue->cores[core - 1];

	queue->cores_ready =
		with_bit(queue->cores_ready, ovt_sched_core_bit(core),
			 !ovt_tree_empty(&of->wanting.ready) || !ovt_tree_empty(&of->spanning));
}

/* Makes @task, which is ready, wait for a slot on each of its cores, or no longer. */
static void change_spanning(struct ovt_sched_task *task, bool comes)
{
	struct ovt_sched_queue *queue = task->process->queue;
	struct ovt_sched *sched = queue->sched;
	struct ovt_sched_gap *gap = task->span->gaps;
	u64 left;

	for (left = ovt_sched_own_cores(task); left; left &= left - 1, gap++) {
		u32 core = (u32)__builtin_ctzll(left) + 1;
		struct ovt_tree *spanning = &queue->cores[core - 1].spanning;

		gap->holder = task;
		if (comes)
			ovt_tree_insert(spanning, &gap->link, spanning_before,
					sched->settings.policy, &sched->steps);
		else
			ovt_tree_remove(spanning, &gap->link, &sched->steps);
		note_ready(queue, core);
	}
}

/* Called after @task has come or gone. */
static void note_ready_core(struct ovt_sched_task *task, bool comes)
{
	u32 core = ovt_sched_wanted_core(task);

	if (ovt_sched_is_high(task) || !core)
		return;
	if (ovt_sched_is_spanning(task))
		change_spanning(task, comes);
	note_ready(task->process->queue, core);
}

void ovt_sched_enter_waiting(struct ovt_sched_task *task)
{
	struct ovt_sched *sched = task->process->queue->sched;

	if (ovt_sched_waits_in_line(task)) {
		change_line(task, true);
		return;
	}
	ovt_tree_insert(ovt_sched_ready_tree_of(task), &task->link, comes_before,
			sched->settings.policy, &sched->steps);
	note_ready_core(task, true);
}

void ovt_sched_leave_waiting(struct ovt_sched_task *task)
{
	if (ovt_sched_waits_in_line(task)) {
		change_line(task, false);
		return;
	}
	ovt_tree_remove(ovt_sched_ready_tree_of(task), &task->link,
			&task->process->queue->sched->steps);
	note_ready_core(task, false);
}

void ovt_sched_enter_cpu_waiting(struct ovt_sched_task *task)
{
	struct ovt_sched *sched = task->process->queue->sched;

	ovt_tree_insert(&task->process->cpu_waiting, &task->link, by_dispatch,
			sched->settings.policy, &sched->steps);
}

void ovt_sched_leave_cpu_waiting(struct ovt_sched_task *task)
{
	ovt_tree_remove(&task->process->cpu_waiting, &task->link,
			&task->process->queue->sched->steps);
}

struct ovt_sched_task *ovt_sched_first(const struct ovt_tree *tree)
{
	if (ovt_tree_empty(tree))
		return NULL;
	return ovt_container_of(tree->first, struct ovt_sched_task, link);
}

struct ovt_sched_task *ovt_sched_first_in_line(const struct ovt_tree *lines)
{
	return ovt_tree_empty(lines) ? NULL : ovt_sched_first(&line_at(lines->first)->tasks);
}
