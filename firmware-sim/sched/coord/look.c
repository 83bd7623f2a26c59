// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* A look: chooses what to dispatch, or to drop, next. */
#include "sched/coord/internal.h"

static bool has_idle_processor(const struct ovt_coord *coord)
{
	u64 rest;

	for (rest = coord->in_use; rest; rest &= rest - 1) {
		if (ovt_coord_is_idle(&coord->processors[ovt_coord_lowest(rest)]))
			return true;
	}
	return false;
}

static void choose(struct ovt_coord_choice *choice, struct ovt_coord_task *task,
		   const struct ovt_coord_plan *plan)
{
	*choice = (struct ovt_coord_choice){
		.task = task,
		.piece = plan->next,
		.following = plan->following,
		.has_following = plan->has_following,
	};
}

static bool will_be_late(const struct ovt_coord *coord, const struct ovt_coord_task *task,
			 const struct ovt_coord_plan *plan, u64 now)
{
	return coord->settings.drop == OVT_COORD_DROP_PREDICTED && !task->unfinished_runs &&
	       task->deadline != OVT_COORD_NEVER &&
	       ovt_coord_add(now, plan->latency) > task->deadline;
}

/* Orders the first tasks of the queue, smallest key first.  Returns their number. */
static u32 order_window(struct ovt_coord *coord, u64 now)
{
	const struct ovt_coord_policy *policy = coord->settings.policy;
	struct ovt_coord_scratch *scratch = &coord->scratch;
	struct ovt_coord_task *task = ovt_coord_first(&coord->queue_below);
	struct ovt_coord_plan plan;
	u32 count;

	for (count = 0; task && count < coord->settings.window; count++) {
		u32 place = count;
		s64 key = 0;

		if (policy->key) {
			ovt_coord_make_plan(coord, task, now, &plan);
			key = policy->key(task, plan.latency, now);
		}
		for (; place && scratch->keys[place - 1] > key; place--) {
			scratch->keys[place] = scratch->keys[place - 1];
			scratch->window[place] = scratch->window[place - 1];
			coord->steps++;
		}
		scratch->keys[place] = key;
		scratch->window[place] = task;
		task = ovt_coord_after(task);
	}
	return count;
}

bool ovt_coord_pick_in_window(struct ovt_coord *coord, u64 now, struct ovt_coord_choice *choice)
{
	bool to_busy = coord->settings.policy->to_busy;
	struct ovt_coord_plan plan;
	u32 index, count;

	if (ovt_tree_empty(&coord->queue_below) || !(to_busy || has_idle_processor(coord)))
		return false;
	ovt_coord_free_times(coord, false, now, &coord->scratch.base);
	count = order_window(coord, now);
	for (index = 0; index < count; index++) {
		struct ovt_coord_task *task = coord->scratch.window[index];
		const struct ovt_coord_processor *processor;

		ovt_coord_make_plan(coord, task, now, &plan);
		choose(choice, task, &plan);
		choice->drop = will_be_late(coord, task, &plan, now);
		processor = &coord->processors[plan.next.processor];
		if (choice->drop || to_busy || ovt_coord_is_idle(processor))
			return true;
		ovt_coord_count(processor, &coord->scratch.base, plan.next.lead + plan.next.time);
	}
	return false;
}

bool ovt_coord_pick_whole(struct ovt_coord *coord, u64 now, struct ovt_coord_choice *choice)
{
	u64 rest;

	(void)now;
	for (rest = coord->in_use; rest; rest &= rest - 1) {
		u32 q = ovt_coord_lowest(rest);
		struct ovt_coord_processor *processor = &coord->processors[q];
		const struct ovt_coord_record *record;
		struct ovt_coord_task *task;

		coord->steps++;
		if (!ovt_coord_is_idle(processor) || ovt_tree_empty(&processor->whole_tasks))
			continue;
		ovt_coord_forget_throttling(coord, processor, now);
		task = ovt_coord_first_whole(coord, q);
		record = ovt_coord_record_of(task->model, processor->class_index, OVT_COORD_WHOLE,
					     0, task->model->unit_count - 1);
		*choice = (struct ovt_coord_choice){
			.task = task,
			.piece = {
				.chain = OVT_COORD_WHOLE,
				.last = task->model->unit_count - 1,
				.processor = q,
				.lead = processor->overhead,
				.time = ovt_coord_expected(processor, record),
			},
		};
		return true;
	}
	return false;
}

bool ovt_coord_look(struct ovt_coord *coord, u64 now, struct ovt_coord_choice *choice)
{
	struct ovt_coord_task *task = ovt_coord_first(&coord->queue_high);
	struct ovt_coord_plan plan;

	if (!task)
		return coord->settings.policy->pick(coord, now, choice);
	ovt_coord_free_times(coord, true, now, &coord->scratch.base);
	ovt_coord_make_plan(coord, task, now, &plan);
	choose(choice, task, &plan);
	return true;
}
