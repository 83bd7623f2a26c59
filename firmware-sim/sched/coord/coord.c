// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The life of tasks and of their runs, from arrival to end; processors that fail and come back. */
#include "sched/coord/internal.h"

void ovt_coord_init(struct ovt_coord *coord, const struct ovt_coord_settings *settings,
		    struct ovt_coord_processor *processors, u32 processor_count, u32 entry_count,
		    u32 class_count, const u64 *rates)
{
	u32 first_worker = 0;
	u32 q;

	memset(coord, 0, sizeof(*coord));
	coord->settings = *settings;
	coord->processors = processors;
	coord->processor_count = processor_count;
	coord->entry_count = entry_count;
	coord->class_count = class_count;
	coord->rates = rates;
	ovt_list_init(&coord->apart);
	ovt_list_init(&coord->ending);
	ovt_list_init(&coord->giving_up);
	for (q = 0; q < processor_count; q++) {
		struct ovt_coord_processor *processor = &processors[q];

		*processor = (struct ovt_coord_processor){
			.class_index = processor->class_index,
			.entry = processor->entry,
			.workers = processor->workers,
			.core_limit = processor->core_limit,
			.depth = processor->depth,
			.overhead = processor->overhead,
		};
		processor->in_use = true;
		processor->ratio = OVT_COORD_RATIO_USUAL;
		processor->first_worker = first_worker;
		first_worker += processor->workers ? processor->workers : 1;
		ovt_list_init(&processor->executing);
		ovt_list_init(&processor->queued_high);
		ovt_list_init(&processor->queued_below);
		coord->in_use |= ovt_coord_bit(q);
		if (ovt_coord_is_pool(processor))
			coord->pools |= ovt_coord_bit(q);
	}
}

void ovt_coord_arrive(struct ovt_coord *coord, struct ovt_coord_task *task, u64 now)
{
	u32 run;

	task->status = OVT_COORD_UNFINISHED;
	task->arrival_time = now;
	task->dispatch_time = 0;
	task->dispatched = false;
	task->retries = 0;
	task->run_count = 0;
	task->finished = 0;
	task->running = 0;
	task->unfinished_runs = 0;
	task->arrival_sequence = coord->next_arrival++;
	task->waiting = false;
	task->apart = false;
	task->late = false;
	task->ending = false;
	task->whole = 0;
	task->reserved = 0;
	task->reserved_on = 0;
	task->in_queue.size = 0;
	task->in_deadlines.size = 0;
	ovt_list_init(&task->unfinished);
	ovt_list_init(&task->in_list);
	ovt_list_init(&task->in_giving_up);
	for (run = 0; run < task->model->unit_count; run++)
		task->runs[run].unfinished = false;
	ovt_coord_enter(coord, task);
	coord->look_wanted = true;
}

/* Frees the time that @task reserved for its next run. */
static void release(struct ovt_coord *coord, struct ovt_coord_task *task)
{
	coord->processors[task->reserved_on].reserved -= task->reserved;
	task->reserved = 0;
	task->reserved_on = 0;
}

/* Makes the task wait no more, and end with its last run. */
static void begin_end(struct ovt_coord *coord, struct ovt_coord_task *task,
		      enum ovt_coord_status status)
{
	const struct ovt_list *link;

	if (task->ending)
		return;
	ovt_coord_leave(coord, task);
	task->ending = true;
	task->end_status = status;
	for (link = task->unfinished.next; link != &task->unfinished; link = link->next)
		ovt_container_of(link, struct ovt_coord_run, of_task)->cancel_wanted = true;
	ovt_list_append(&coord->ending, &task->in_list);
}

void ovt_coord_cancel(struct ovt_coord *coord, struct ovt_coord_task *task)
{
	if (task->status == OVT_COORD_UNFINISHED)
		begin_end(coord, task, OVT_COORD_CANCELLED);
}

/* Runs */

static struct ovt_list *queue_of(const struct ovt_coord_run *run,
				 struct ovt_coord_processor *processor)
{
	return ovt_coord_is_high(run->task) ? &processor->queued_high : &processor->queued_below;
}

static void enter_processor(struct ovt_coord_run *run, struct ovt_coord_processor *processor,
			    u64 now)
{
	bool is_high = ovt_coord_is_high(run->task);

	if (!processor->unfinished) {
		processor->busy_since = now;
		processor->ended_executed = 0;
	}
	processor->unfinished++;
	processor->unfinished_below += !is_high;
	processor->expected += run->expected;
	processor->expected_high += is_high ? run->expected : 0;
	ovt_list_append(queue_of(run, processor), &run->of_processor);
	if (!ovt_coord_is_pool(processor))
		return;
	processor->waiting_expected += run->expected;
	processor->waiting_expected_high += is_high ? run->expected : 0;
}

/* @run waits no more: a worker has it, or it is over. */
static void wait_no_more(struct ovt_coord_run *run, struct ovt_coord_processor *pool)
{
	bool is_high = ovt_coord_is_high(run->task);

	pool->waiting_expected -= run->expected;
	pool->waiting_expected_high -= is_high ? run->expected : 0;
}

static void leave_processor(struct ovt_coord_run *run, struct ovt_coord_processor *processor,
			    u64 executed, u64 now)
{
	bool is_high = ovt_coord_is_high(run->task);

	ovt_list_remove(&run->of_processor);
	if (ovt_coord_is_pool(processor)) {
		if (run->started)
			processor->running--;
		else
			wait_no_more(run, processor);
	}
	processor->unfinished--;
	processor->unfinished_below -= !is_high;
	processor->expected -= run->expected;
	processor->expected_high -= is_high ? run->expected : 0;
	processor->ended_executed += executed;
	if (!processor->unfinished)
		processor->idle_since = now;
}

static struct ovt_coord_run *unused_run(struct ovt_coord_task *task)
{
	struct ovt_coord_run *run = task->runs;

	while (run->unfinished)
		run++;
	return run;
}

/* Returns the time of the run's longest FC: a batch may hold up a task of 255 by such FCs. */
static u64 longest_fc(const struct ovt_coord *coord, const struct ovt_coord_run *run)
{
	const struct ovt_coord_model *model = run->task->model;
	u32 class_index = coord->processors[run->processor].class_index;
	u64 longest = 0;
	u64 rest;

	if (!model->longest)
		return 0;
	for (rest = run->units; rest; rest &= rest - 1)
		longest = ovt_coord_max(longest,
					model->longest[ovt_coord_lowest(rest) * coord->class_count +
						       class_index]);
	return longest;
}

static void reserve(struct ovt_coord *coord, struct ovt_coord_task *task,
		    const struct ovt_coord_choice *choice)
{
	release(coord, task);
	if (!coord->settings.policy->reserves || !choice->has_following)
		return;
	task->reserved_on = choice->following.processor;
	task->reserved = choice->following.lead + choice->following.time;
	coord->processors[task->reserved_on].reserved += task->reserved;
}

static struct ovt_coord_run *dispatch(struct ovt_coord *coord,
				      const struct ovt_coord_choice *choice, u64 now)
{
	const struct ovt_coord_piece *piece = &choice->piece;
	struct ovt_coord_processor *processor = &coord->processors[piece->processor];
	struct ovt_coord_task *task = choice->task;
	struct ovt_coord_run *run = unused_run(task);
	struct ovt_coord_free_times *free_times = &coord->scratch.planned;
	void *host = run->host;
	u64 rest;

	ovt_coord_free_times(coord, ovt_coord_is_high(task), now, free_times);
	ovt_coord_leave(coord, task);
	*run = (struct ovt_coord_run){
		.task = task,
		.number = task->run_count++,
		.processor = piece->processor,
		.chain = piece->chain,
		.first = piece->first,
		.last = piece->last,
		.units = ovt_coord_units_of(task->model, piece->chain, piece->first, piece->last),
		.lead = piece->lead,
		.expected = piece->lead + piece->time,
		.dispatch_time = now,
		.dispatch_sequence = ++coord->next_dispatch,
		.unfinished = true,
		.host = host,
	};
	run->due = ovt_coord_add(ovt_coord_add(now, run->expected),
				 ovt_coord_soonest(processor, free_times));
	run->longest_fc = longest_fc(coord, run);
	enter_processor(run, processor, now);
	ovt_list_append(&task->unfinished, &run->of_task);
	task->unfinished_runs++;
	task->running |= run->units;
	for (rest = run->units; rest; rest &= rest - 1) {
		task->place[ovt_coord_lowest(rest)] = (u8)piece->processor;
		task->run_of[ovt_coord_lowest(rest)] = (u8)(run - task->runs);
	}
	if (!task->dispatched)
		task->dispatch_time = now;
	task->dispatched = true;
	reserve(coord, task, choice);
	ovt_coord_enter(coord, task);
	return run;
}

static void count_retry(struct ovt_coord *coord, struct ovt_coord_task *task)
{
	task->retries++;
	if (task->retries > OVT_COORD_MAX_RETRIES && !task->ending &&
	    ovt_list_empty(&task->in_giving_up))
		ovt_list_append(&coord->giving_up, &task->in_giving_up);
}

enum ovt_coord_status ovt_coord_run_ended(struct ovt_coord *coord, struct ovt_coord_run *run,
					  const struct ovt_coord_end *end, u64 now)
{
	struct ovt_coord_processor *processor = &coord->processors[run->processor];
	struct ovt_coord_task *task = run->task;
	enum ovt_coord_status status = end->status;

	if (status == OVT_COORD_DONE && task->ending)
		status = OVT_COORD_CANCELLED;
	ovt_coord_leave(coord, task);
	leave_processor(run, processor, end->executed, now);
	ovt_list_remove(&run->of_task);
	run->unfinished = false;
	run->cancel_wanted = false;
	task->unfinished_runs--;
	task->running &= ~run->units;
	coord->look_wanted = true;
	if (status == OVT_COORD_DONE) {
		task->finished |= run->units;
		ovt_coord_learn(coord, run, end->executed);
	}
	if (status == OVT_COORD_FAILED && end->fault)
		begin_end(coord, task, OVT_COORD_FAILED);
	else if (status == OVT_COORD_FAILED && end->started)
		count_retry(coord, task);
	if (task->finished == ovt_coord_all_units(task->model))
		begin_end(coord, task, OVT_COORD_DONE);
	if (task->ending && !task->unfinished_runs) {
		ovt_list_remove(&task->in_list);
		ovt_list_append(&coord->ending, &task->in_list);
	}
	ovt_coord_enter(coord, task);
	return status;
}

/* Processors that fail and come back */

static struct ovt_coord_run *earlier_of(struct ovt_coord_run *first, const struct ovt_list *link)
{
	struct ovt_coord_run *run = ovt_container_of(link, struct ovt_coord_run, of_processor);

	return first && first->dispatch_sequence < run->dispatch_sequence ? first : run;
}

struct ovt_coord_run *ovt_coord_first_run(const struct ovt_coord *coord, u32 index)
{
	const struct ovt_coord_processor *processor = &coord->processors[index];
	const struct ovt_list *link = processor->executing.next;
	struct ovt_coord_run *first = NULL;

	for (; link != &processor->executing; link = link->next)
		first = earlier_of(first, link);
	if (!ovt_list_empty(&processor->queued_high))
		first = earlier_of(first, processor->queued_high.next);
	if (!ovt_list_empty(&processor->queued_below))
		first = earlier_of(first, processor->queued_below.next);
	return first;
}

bool ovt_coord_fail(struct ovt_coord *coord, u32 index, u64 now)
{
	struct ovt_coord_processor *processor = &coord->processors[index];

	if (!processor->in_use)
		return false;
	processor->in_use = false;
	coord->in_use &= ~ovt_coord_bit(index);
	processor->trial_interval = coord->settings.retry_after;
	processor->trial_time = ovt_coord_add(now, processor->trial_interval);
	ovt_coord_sort_anew(coord);
	coord->look_wanted = true;
	return true;
}

bool ovt_coord_trial_due(const struct ovt_coord *coord, u64 now, u32 *index)
{
	u32 q;

	for (q = 0; q < coord->processor_count; q++) {
		if (!coord->processors[q].in_use && coord->processors[q].trial_time <= now) {
			*index = q;
			return true;
		}
	}
	return false;
}

u64 ovt_coord_next_trial(const struct ovt_coord *coord, u64 processors)
{
	u64 next = OVT_COORD_NEVER;
	u32 q;

	for (q = 0; q < coord->processor_count; q++) {
		if (!coord->processors[q].in_use && (processors & ovt_coord_bit(q)))
			next = ovt_coord_min(next, coord->processors[q].trial_time);
	}
	return next;
}

void ovt_coord_trial_ended(struct ovt_coord *coord, u32 index, bool works, u64 now)
{
	struct ovt_coord_processor *processor = &coord->processors[index];
	u64 most = 16 * coord->settings.retry_after;

	if (!works) {
		processor->trial_interval = ovt_coord_min(2 * processor->trial_interval, most);
		processor->trial_time = ovt_coord_add(now, processor->trial_interval);
		return;
	}
	processor->in_use = true;
	coord->in_use |= ovt_coord_bit(index);
	ovt_coord_sort_anew(coord);
	coord->look_wanted = true;
}

/* Actions */

static struct ovt_coord_task *first_in(const struct ovt_list *list)
{
	return ovt_container_of(list->next, struct ovt_coord_task, in_list);
}

static struct ovt_coord_run *run_to_cancel(const struct ovt_coord_task *task)
{
	const struct ovt_list *link;

	for (link = task->unfinished.next; link != &task->unfinished; link = link->next) {
		struct ovt_coord_run *run = ovt_container_of(link, struct ovt_coord_run, of_task);

		if (run->cancel_wanted)
			return run;
	}
	return NULL;
}

static void give_up(struct ovt_coord *coord)
{
	while (!ovt_list_empty(&coord->giving_up)) {
		struct ovt_list *link = coord->giving_up.next;
		struct ovt_coord_task *task =
			ovt_container_of(link, struct ovt_coord_task, in_giving_up);

		ovt_list_remove(&task->in_giving_up);
		begin_end(coord, task, OVT_COORD_FAILED);
	}
}

bool ovt_coord_left_to_do(struct ovt_coord *coord, struct ovt_coord_action *action)
{
	give_up(coord);
	while (!ovt_list_empty(&coord->ending)) {
		struct ovt_coord_task *task = first_in(&coord->ending);

		action->task = task;
		action->run = run_to_cancel(task);
		if (action->run) {
			action->type = OVT_COORD_CANCEL;
			action->run->cancel_wanted = false;
			return true;
		}
		ovt_list_remove(&task->in_list);
		if (!task->unfinished_runs) {
			release(coord, task);
			task->status = task->end_status;
			coord->look_wanted = true;
			action->type = OVT_COORD_END;
			return true;
		}
	}
	return false;
}

static bool start_on_pool(struct ovt_coord_processor *pool, u64 now,
			  struct ovt_coord_action *action)
{
	struct ovt_list *queue = ovt_list_empty(&pool->queued_high) ? &pool->queued_below :
								      &pool->queued_high;
	struct ovt_coord_run *run;

	if (pool->running == pool->workers || ovt_list_empty(queue))
		return false;
	run = ovt_container_of(queue->next, struct ovt_coord_run, of_processor);
	wait_no_more(run, pool);
	ovt_list_remove(&run->of_processor);
	ovt_list_append(&pool->executing, &run->of_processor);
	run->started = true;
	run->start_time = now;
	pool->running++;
	*action = (struct ovt_coord_action){
		.type = OVT_COORD_START,
		.run = run,
		.task = run->task,
	};
	return true;
}

static bool start_waiting(struct ovt_coord *coord, u64 now, struct ovt_coord_action *action)
{
	u64 rest;

	for (rest = coord->pools & coord->in_use; rest; rest &= rest - 1) {
		if (start_on_pool(&coord->processors[ovt_coord_lowest(rest)], now, action))
			return true;
	}
	return false;
}

bool ovt_coord_next(struct ovt_coord *coord, u64 now, struct ovt_coord_action *action)
{
	struct ovt_coord_choice choice;
	struct ovt_coord_task *late;

	for (;;) {
		if (ovt_coord_left_to_do(coord, action))
			return true;
		late = ovt_coord_late_task(coord, now);
		if (late) {
			begin_end(coord, late, OVT_COORD_DROPPED);
			continue;
		}
		if (!coord->look_wanted || !ovt_coord_look(coord, now, &choice))
			break;
		if (choice.drop) {
			begin_end(coord, choice.task, OVT_COORD_DROPPED);
			continue;
		}
		*action = (struct ovt_coord_action){
			.type = OVT_COORD_DISPATCH,
			.run = dispatch(coord, &choice, now),
			.task = choice.task,
		};
		return true;
	}
	coord->look_wanted = false;
	return start_waiting(coord, now, action);
}
