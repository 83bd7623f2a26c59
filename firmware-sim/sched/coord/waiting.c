// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Queues of waiting tasks.  Tasks of 255 with a plan are in one queue, tasks below 255 with a plan
 * in another; tasks without a plan are apart.  Tasks that may be dropped are also in a tree by
 * deadline.  A policy that takes tasks whole has, for tasks below 255, a queue for each processor
 * instead, with the tasks that can run there.
 */
#include "sched/coord/internal.h"

static struct ovt_coord_task *task_at(const struct ovt_tree_node *node)
{
	return ovt_container_of(node, struct ovt_coord_task, in_queue);
}

static struct ovt_coord_task *task_with_deadline(const struct ovt_tree_node *node)
{
	return ovt_container_of(node, struct ovt_coord_task, in_deadlines);
}

static bool stands_before(const struct ovt_coord_policy *policy, const struct ovt_coord_task *a,
			  const struct ovt_coord_task *b)
{
	int order = policy->compare(a, b);

	return order ? order < 0 : a->arrival_sequence < b->arrival_sequence;
}

static bool queue_before(const void *policy, const struct ovt_tree_node *a,
			 const struct ovt_tree_node *b)
{
	return stands_before(policy, task_at(a), task_at(b));
}

/* A task that goes whole has a link in the tree of each processor that can run it. */
static bool whole_before(const void *policy, const struct ovt_tree_node *a,
			 const struct ovt_tree_node *b)
{
	return stands_before(policy, ovt_container_of(a, struct ovt_coord_link, node)->task,
			     ovt_container_of(b, struct ovt_coord_link, node)->task);
}

static bool arrived_before(const void *context, const struct ovt_tree_node *a,
			   const struct ovt_tree_node *b)
{
	(void)context;
	return task_with_deadline(a)->arrival_sequence < task_with_deadline(b)->arrival_sequence;
}

static bool due_before(const void *context, const struct ovt_tree_node *a,
		       const struct ovt_tree_node *b)
{
	const struct ovt_coord_task *first = task_with_deadline(a);
	const struct ovt_coord_task *second = task_with_deadline(b);

	if (first->deadline != second->deadline)
		return first->deadline < second->deadline;
	return arrived_before(context, a, b);
}

struct ovt_coord_task *ovt_coord_first(const struct ovt_tree *queue)
{
	return queue->first ? task_at(queue->first) : NULL;
}

struct ovt_coord_task *ovt_coord_first_whole(const struct ovt_coord *coord, u32 processor)
{
	const struct ovt_tree_node *first = coord->processors[processor].whole_tasks.first;

	return ovt_container_of(first, struct ovt_coord_link, node)->task;
}

struct ovt_coord_task *ovt_coord_after(struct ovt_coord_task *task)
{
	const struct ovt_tree_node *node = &task->in_queue;

	if (node->right) {
		for (node = node->right; node->left;)
			node = node->left;
		return task_at(node);
	}
	while (node->parent && node->parent->right == node)
		node = node->parent;
	return node->parent ? task_at(node->parent) : NULL;
}

bool ovt_coord_has_ready_unit(const struct ovt_coord_task *task)
{
	u64 left = ovt_coord_left(task);

	for (; left; left &= left - 1) {
		if (!(task->model->units[ovt_coord_lowest(left)].after & ~task->finished))
			return true;
	}
	return false;
}

static bool has_plan(const struct ovt_coord *coord, const struct ovt_coord_task *task)
{
	u64 left = ovt_coord_left(task);

	for (; left; left &= left - 1) {
		if (!(ovt_coord_can_run(coord, task, ovt_coord_lowest(left)) & coord->in_use))
			return false;
	}
	return true;
}

static bool goes_whole(const struct ovt_coord *coord, const struct ovt_coord_task *task)
{
	return coord->settings.policy->whole && !ovt_coord_is_high(task);
}

static struct ovt_tree *queue_of(struct ovt_coord *coord, const struct ovt_coord_task *task)
{
	return ovt_coord_is_high(task) ? &coord->queue_high : &coord->queue_below;
}

static u64 processors_for_all(const struct ovt_coord *coord, const struct ovt_coord_task *task)
{
	u64 processors = ~0ull;
	u32 unit;

	if (task->finished || task->running)
		return 0;
	for (unit = 0; unit < task->model->unit_count; unit++)
		processors &= ovt_coord_can_run(coord, task, unit);
	return processors;
}

static void enter_queue(struct ovt_coord *coord, struct ovt_coord_task *task)
{
	if (has_plan(coord, task)) {
		ovt_tree_insert(queue_of(coord, task), &task->in_queue, queue_before,
				coord->settings.policy, &coord->steps);
		return;
	}
	task->apart = true;
	ovt_list_append(&coord->apart, &task->in_list);
}

static void leave_queue(struct ovt_coord *coord, struct ovt_coord_task *task)
{
	if (task->apart)
		ovt_list_remove(&task->in_list);
	else
		ovt_tree_remove(queue_of(coord, task), &task->in_queue, &coord->steps);
	task->apart = false;
}

static void enter_whole(struct ovt_coord *coord, struct ovt_coord_task *task)
{
	u64 rest;

	task->whole = processors_for_all(coord, task);
	for (rest = task->whole; rest; rest &= rest - 1) {
		u32 q = ovt_coord_lowest(rest);

		task->links[q].task = task;
		ovt_tree_insert(&coord->processors[q].whole_tasks, &task->links[q].node,
				whole_before, coord->settings.policy, &coord->steps);
	}
}

static void leave_whole(struct ovt_coord *coord, struct ovt_coord_task *task)
{
	u64 rest;

	for (rest = task->whole; rest; rest &= rest - 1) {
		u32 q = ovt_coord_lowest(rest);

		ovt_tree_remove(&coord->processors[q].whole_tasks, &task->links[q].node,
				&coord->steps);
	}
	task->whole = 0;
}

static bool may_be_dropped(const struct ovt_coord *coord, const struct ovt_coord_task *task)
{
	return coord->settings.drop != OVT_COORD_DROP_NEVER && !ovt_coord_is_high(task) &&
	       task->deadline != OVT_COORD_NEVER && !task->unfinished_runs;
}

void ovt_coord_enter(struct ovt_coord *coord, struct ovt_coord_task *task)
{
	if (task->ending || !ovt_coord_has_ready_unit(task))
		return;
	task->waiting = true;
	if (goes_whole(coord, task))
		enter_whole(coord, task);
	else
		enter_queue(coord, task);
	if (may_be_dropped(coord, task))
		ovt_tree_insert(&coord->deadlines, &task->in_deadlines, due_before, NULL,
				&coord->steps);
}

void ovt_coord_leave(struct ovt_coord *coord, struct ovt_coord_task *task)
{
	if (!task->waiting)
		return;
	task->waiting = false;
	if (goes_whole(coord, task))
		leave_whole(coord, task);
	else
		leave_queue(coord, task);
	if (ovt_tree_holds(&task->in_deadlines))
		ovt_tree_remove(task->late ? &coord->late : &coord->deadlines,
				&task->in_deadlines, &coord->steps);
	task->late = false;
}

static void put_apart(struct ovt_coord *coord, struct ovt_tree *queue)
{
	struct ovt_coord_task *task = ovt_coord_first(queue);

	while (task) {
		struct ovt_coord_task *next = ovt_coord_after(task);

		coord->steps++;
		if (!has_plan(coord, task)) {
			leave_queue(coord, task);
			enter_queue(coord, task);
		}
		task = next;
	}
}

static void bring_back(struct ovt_coord *coord)
{
	struct ovt_list *link = coord->apart.next;

	while (link != &coord->apart) {
		struct ovt_coord_task *task =
			ovt_container_of(link, struct ovt_coord_task, in_list);

		link = link->next;
		coord->steps++;
		if (has_plan(coord, task)) {
			leave_queue(coord, task);
			enter_queue(coord, task);
		}
	}
}

void ovt_coord_sort_anew(struct ovt_coord *coord)
{
	bring_back(coord);
	put_apart(coord, &coord->queue_high);
	put_apart(coord, &coord->queue_below);
}

struct ovt_coord_task *ovt_coord_late_task(struct ovt_coord *coord, u64 now)
{
	const struct ovt_tree_node *first;

	while ((first = coord->deadlines.first) && task_with_deadline(first)->deadline <= now) {
		struct ovt_coord_task *task = task_with_deadline(first);

		ovt_tree_remove(&coord->deadlines, &task->in_deadlines, &coord->steps);
		task->late = true;
		ovt_tree_insert(&coord->late, &task->in_deadlines, arrived_before, NULL,
				&coord->steps);
	}
	return coord->late.first ? task_with_deadline(coord->late.first) : NULL;
}

u64 ovt_coord_next_deadline(const struct ovt_coord *coord)
{
	if (coord->late.first)
		return task_with_deadline(coord->late.first)->deadline;
	return coord->deadlines.first ? task_with_deadline(coord->deadlines.first)->deadline :
					OVT_COORD_NEVER;
}
