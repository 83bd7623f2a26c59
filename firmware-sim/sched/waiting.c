// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Where tasks wait: sorted by the policy, then by what came first.
 *
 * Tasks of a queue are kept apart by what they wait for, so that whoever may not go holds up a tree
 * of its like and not a walk past all the others: sched/dispatch.c compares the first of each.
 */
#include "sched/internal.h"

static const struct ovt_sched_task *task_of(const struct ovt_tree_node *node)
{
	return ovt_container_of(node, struct ovt_sched_task, link);
}

bool ovt_sched_goes_before(struct ovt_sched *sched, const struct ovt_sched_task *a,
			   const struct ovt_sched_task *b)
{
	int order = sched->config.policy->compare(a, b);

	sched->steps++;
	return order ? order < 0 : a->arrival_sequence < b->arrival_sequence;
}

static bool is_dispatched_before(const void *policy, const struct ovt_tree_node *a,
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

/* Of @task's like; constant while it waits. */
static struct ovt_tree *tree_of(const struct ovt_sched_task *task)
{
	struct ovt_sched_queue *queue = task->process->queue;
	struct ovt_sched_wanting *wanting;

	if (ovt_sched_is_high(task))
		return &queue->high;
	if (!ovt_sched_next_is_bpu(task))
		return &queue->cpu_first;
	wanting = task->core ? &queue->cores[task->core - 1].wanting : &queue->any;
	return task->state == OVT_SCHED_READY ? &wanting->ready : &wanting->waiting;
}

/* Notes in which cores' trees there is anybody. */
static void note_cores(const struct ovt_sched_task *task, const struct ovt_tree *tree)
{
	struct ovt_sched_queue *queue = task->process->queue;
	u64 bit;

	if (ovt_sched_is_high(task) || !ovt_sched_next_is_bpu(task) || !task->core)
		return;
	bit = 1ull << (task->core - 1);
	if (task->state == OVT_SCHED_READY)
		queue->cores_ready = ovt_tree_empty(tree) ? queue->cores_ready & ~bit :
							    queue->cores_ready | bit;
	else
		queue->cores_waiting = ovt_tree_empty(tree) ? queue->cores_waiting & ~bit :
							      queue->cores_waiting | bit;
}

void ovt_sched_enter_waiting(struct ovt_sched_task *task)
{
	struct ovt_sched *sched = task->process->queue->sched;
	struct ovt_tree *tree = tree_of(task);

	ovt_tree_insert(tree, &task->link, is_dispatched_before, sched->config.policy, &sched->steps);
	note_cores(task, tree);
}

void ovt_sched_leave_waiting(struct ovt_sched_task *task)
{
	struct ovt_tree *tree = tree_of(task);

	ovt_tree_remove(tree, &task->link, &task->process->queue->sched->steps);
	note_cores(task, tree);
}

void ovt_sched_enter_cpu_waiting(struct ovt_sched_task *task)
{
	struct ovt_sched *sched = task->process->queue->sched;

	ovt_tree_insert(&task->process->cpu_waiting, &task->link, by_dispatch,
			sched->config.policy, &sched->steps);
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
