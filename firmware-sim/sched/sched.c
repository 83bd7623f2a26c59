// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The life of a task: waiting, ready, on a CPU worker, on the device, over.
 *
 * Only ovt_sched_next() dispatches.  It looks at a queue's waiting tasks from the best placed
 * and takes the first that may go, by the rules of sched/dispatch.c.  The other calls only move
 * tasks and note that there is something to look at.
 */
#include "sched/internal.h"

void ovt_sched_init(struct ovt_sched *sched, u32 core_count,
		    const struct ovt_sched_settings *settings)
{
	memset(sched, 0, sizeof(*sched));
	sched->core_count = core_count;
	sched->settings = *settings;
}

static bool queue_before(const void *context, const struct ovt_tree_node *a,
			 const struct ovt_tree_node *b)
{
	(void)context;
	return ovt_container_of(a, struct ovt_sched_queue, link)->place <
	       ovt_container_of(b, struct ovt_sched_queue, link)->place;
}

/* Notes that a task may go in @queue, which is then looked at in its place among the queues. */
static void look_at(struct ovt_sched_queue *queue)
{
	struct ovt_sched *sched = queue->sched;

	if (!ovt_tree_holds(&queue->link))
		ovt_tree_insert(&sched->queues, &queue->link, queue_before, NULL, &sched->steps);
}

static void stop_looking_at(struct ovt_sched_queue *queue)
{
	struct ovt_sched *sched = queue->sched;

	if (ovt_tree_holds(&queue->link))
		ovt_tree_remove(&sched->queues, &queue->link, &sched->steps);
}

static bool process_before(const void *context, const struct ovt_tree_node *a,
			   const struct ovt_tree_node *b)
{
	(void)context;
	return ovt_container_of(a, struct ovt_sched_process, link)->place <
	       ovt_container_of(b, struct ovt_sched_process, link)->place;
}

/* Notes whether @process has both a waiting CPU segment and an idle worker. */
static void look_at_workers(struct ovt_sched_process *process)
{
	struct ovt_sched *sched = process->queue->sched;
	bool may_run = !process->gone && !ovt_tree_empty(&process->cpu_waiting) &&
		       process->workers_busy < process->worker_count;

	if (may_run == ovt_tree_holds(&process->link))
		return;
	if (may_run)
		ovt_tree_insert(&sched->processes, &process->link, process_before, NULL,
				&sched->steps);
	else
		ovt_tree_remove(&sched->processes, &process->link, &sched->steps);
}

void ovt_sched_add_queue(struct ovt_sched *sched, struct ovt_sched_queue *queue,
			 struct ovt_sched_queue_core *cores)
{
	memset(queue, 0, sizeof(*queue));
	memset(cores, 0, sched->core_count * sizeof(*cores));
	queue->sched = sched;
	queue->place = ++sched->next_place;
	queue->cores = cores;
}

void ovt_sched_remove_queue(struct ovt_sched_queue *queue)
{
	stop_looking_at(queue);
}

void ovt_sched_add_process(struct ovt_sched *sched, struct ovt_sched_process *process,
			   struct ovt_sched_queue *queue, struct ovt_sched_line *lines)
{
	memset(process, 0, sizeof(*process));
	memset(lines, 0, sched->core_count * sizeof(*lines));
	ovt_list_init(&process->tasks);
	process->queue = queue;
	process->cores = lines;
	process->worker_count = sched->settings.workers;
	process->place = ++sched->next_place;
}

void ovt_sched_remove_process(struct ovt_sched_process *process)
{
	look_at_workers(process);
}

static void set_state(struct ovt_sched_task *task, enum ovt_sched_state state)
{
	u32 *in_state = task->process->in_state;

	if (task->state != OVT_SCHED_NEW && task->state != OVT_SCHED_ENDED)
		in_state[task->state]--;
	if (state != OVT_SCHED_ENDED)
		in_state[state]++;
	task->state = state;
}

static void set_overdue(struct ovt_sched_task *task, bool overdue)
{
	task->process->overdue += (u32)overdue - (u32)task->overdue;
	task->overdue = overdue;
}

/* Moves @task in its process's list: an abandon ends tasks that may block others first. */
static void move_in_process(struct ovt_sched_task *task, bool to_front)
{
	struct ovt_list *tasks = &task->process->tasks;

	if (ovt_list_empty(&task->of_process))
		return; /* abandoned: it ends with its job */
	ovt_list_remove(&task->of_process);
	ovt_list_append(to_front ? tasks->next : tasks, &task->of_process);
}

static bool act(struct ovt_sched_action *action, enum ovt_sched_action_type type,
		struct ovt_sched_task *task)
{
	action->type = type;
	action->task = task;
	action->segment = task->segment;
	action->core = task->placed_core;
	action->cores = task->placed_core ? ovt_sched_core_bit(task->placed_core) : 0;
	return true;
}

/* Counts one holder more, or less, on each core of @task. */
static void count_holder(const struct ovt_sched_task *task, u32 change)
{
	u64 left;

	for (left = ovt_sched_own_cores(task); left; left &= left - 1)
		task->process->queue->cores[__builtin_ctzll(left)].holders += change;
}

static void enter_waiting(struct ovt_sched_task *task)
{
	ovt_sched_enter_waiting(task);
	look_at(task->process->queue);
}

/* The current segment of @task is for a CPU worker; if the task holds a slot, it is a gap. */
static void enter_cpu_waiting(struct ovt_sched_task *task, u64 now)
{
	set_state(task, OVT_SCHED_CPU_WAITING);
	ovt_sched_enter_cpu_waiting(task);
	look_at_workers(task->process);
	ovt_sched_open_gap(task);
	ovt_sched_watch(task, now);
}

static void leave_cpu_waiting(struct ovt_sched_task *task)
{
	ovt_sched_leave_cpu_waiting(task);
	look_at_workers(task->process);
}

static void take_slot(struct ovt_sched_task *task)
{
	if (ovt_sched_is_high(task))
		return;
	task->holds_slot = true;
	task->process->slots++;
	count_holder(task, 1);
	move_in_process(task, true);
}

static void release_slot(struct ovt_sched_task *task)
{
	if (!task->holds_slot)
		return;
	task->holds_slot = false;
	task->process->slots--;
	look_at(task->process->queue);
	count_holder(task, ~0u);
}

static bool end_task(struct ovt_sched_task *task, struct ovt_sched_action *action)
{
	struct ovt_sched_queue *queue = task->process->queue;

	release_slot(task);
	if (task->counted)
		ovt_sched_discount(task);
	look_at(queue);
	ovt_list_remove(&task->of_process);
	set_overdue(task, false);
	set_state(task, OVT_SCHED_ENDED);
	return act(action, OVT_SCHED_END, task);
}

void ovt_sched_arrive(struct ovt_sched *sched, struct ovt_sched_task *task, u64 now)
{
	u64 cpu_time = 0;
	u32 segment;

	task->state = OVT_SCHED_NEW;
	task->segment = 0;
	task->placed_core = 0;
	task->bpu_left = 0;
	task->bpu_time = 0;
	task->cancelled = false;
	task->holds_slot = false;
	task->counted = false;
	task->overdue = false;
	task->overdue_time = 0;
	task->dispatch_sequence = 0;
	task->dispatch_time = 0;
	task->segment_start = 0;
	task->watched_since = 0;
	memset(&task->gap, 0, sizeof(task->gap));
	if (task->span) {
		task->span->cores = 0;
		memset(task->span->gaps, 0, task->span->width * sizeof(*task->span->gaps));
	}
	memset(&task->overdue_link, 0, sizeof(task->overdue_link));
	ovt_list_append(&task->process->tasks, &task->of_process);
	task->arrival_sequence = ++sched->next_arrival;
	task->arrival_time = now;
	for (segment = 0; segment < task->segment_count; segment++) {
		if (!task->segments[segment].fc_count) {
			cpu_time += task->segments[segment].time;
			continue;
		}
		task->bpu_left++;
		task->bpu_time += task->segments[segment].time;
	}
	task->cpu_allowance = ovt_sched_cpu_allowance(&sched->settings, cpu_time);
	set_state(task, OVT_SCHED_WAITING);
	enter_waiting(task);
}

/*
 * Goes on with the segment after one that ended.  The segment goes to the device, or into the queue
 * for workers, at once.  Only the first BPU segment, and one whose slot was released, waits for its
 * turn.
 */
static bool go_on(struct ovt_sched_task *task, u64 now, struct ovt_sched_action *action)
{
	task->segment++;
	if (task->segment == task->segment_count)
		return end_task(task, action);
	if (!ovt_sched_next_is_bpu(task)) {
		enter_cpu_waiting(task, now);
		look_at(task->process->queue);
		return false;
	}
	if (!ovt_sched_has_begun_bpu(task) || (!task->holds_slot && !ovt_sched_is_high(task))) {
		set_state(task, OVT_SCHED_READY);
		move_in_process(task, true); /* it may bar a core */
		enter_waiting(task);
		return false;
	}
	set_state(task, OVT_SCHED_BPU);
	return act(action, OVT_SCHED_SUBMIT, task);
}

/* @task leaves its worker, which is idle then, or gone. */
static void leave_cpu_running(struct ovt_sched_task *task, u64 now)
{
	task->process->workers_busy--;
	look_at_workers(task->process);
	ovt_sched_close_gap(task);
	ovt_sched_unwatch(task, now);
}

bool ovt_sched_segment_ended(struct ovt_sched *sched, struct ovt_sched_task *task, bool ok,
			     u64 now, struct ovt_sched_action *action)
{
	(void)sched;
	if (task->state == OVT_SCHED_CPU_RUNNING) {
		leave_cpu_running(task, now);
		set_overdue(task, false);
	} else {
		task->bpu_left--;
		if (!task->bpu_left)
			release_slot(task);
	}
	if (!ok || task->cancelled)
		return end_task(task, action);
	return go_on(task, now, action);
}

static bool cancel_waiting(struct ovt_sched_task *task, struct ovt_sched_action *action)
{
	task->cancelled = true;
	ovt_sched_leave_waiting(task);
	return end_task(task, action);
}

static bool cancel_cpu_waiting(struct ovt_sched_task *task, struct ovt_sched_action *action)
{
	task->cancelled = true;
	leave_cpu_waiting(task);
	ovt_sched_close_gap(task);
	ovt_sched_unwatch(task, task->watched_since); /* it needs no allowance any more */
	return end_task(task, action);
}

bool ovt_sched_cancel(struct ovt_sched *sched, struct ovt_sched_task *task,
		      struct ovt_sched_action *action)
{
	(void)sched;
	if (task->state == OVT_SCHED_NEW || task->cancelled)
		return false;
	switch (task->state) {
	case OVT_SCHED_WAITING:
	case OVT_SCHED_READY:
		return cancel_waiting(task, action);
	case OVT_SCHED_CPU_WAITING:
		return cancel_cpu_waiting(task, action);
	case OVT_SCHED_CPU_RUNNING:
		task->cancelled = true;
		return false;
	case OVT_SCHED_BPU:
		task->cancelled = true;
		return act(action, OVT_SCHED_CANCEL_JOB, task);
	default:
		return false;
	}
}

/* Makes no task of @process be chosen any more, in a few steps, however many tasks there are. */
static void withdraw(struct ovt_sched_process *process)
{
	ovt_sched_withdraw_lines(process);
	process->gone = true;
	look_at_workers(process);
	look_at(process->queue);
}

bool ovt_sched_abandon(struct ovt_sched *sched, struct ovt_sched_process *process,
		       struct ovt_sched_action *action)
{
	struct ovt_sched_task *task;

	if (!process->gone)
		withdraw(process);
	while (!ovt_list_empty(&process->tasks)) {
		task = ovt_container_of(process->tasks.next, struct ovt_sched_task, of_process);
		if (task->state == OVT_SCHED_CPU_RUNNING) {
			leave_cpu_running(task, task->watched_since);
			task->cancelled = true;
			return end_task(task, action);
		}
		if (task->state == OVT_SCHED_BPU)
			ovt_list_remove(&task->of_process); /* it ends when its job has ended */
		if (ovt_sched_cancel(sched, task, action))
			return true;
	}
	process->gone = false; /* a host may use it again */
	return false;
}

void ovt_sched_placed(struct ovt_sched *sched, struct ovt_sched_task *task, u32 core)
{
	(void)sched;
	task->placed_core = core;
	take_slot(task);
}

void ovt_sched_placed_on(struct ovt_sched *sched, struct ovt_sched_task *task, u32 first, u64 cores)
{
	task->span->cores = cores;
	ovt_sched_placed(sched, task, first);
}

/* Begins a task with its first segment, or a ready task with a BPU segment, on one of @cores. */
static bool dispatch(struct ovt_sched *sched, struct ovt_sched_task *task, u64 cores, u64 now,
		     struct ovt_sched_action *action)
{
	ovt_sched_leave_waiting(task);
	if (!task->dispatch_sequence) {
		task->dispatch_sequence = ++sched->next_dispatch;
		task->dispatch_time = now;
		if (!ovt_sched_is_high(task)) {
			ovt_sched_count(task);
			move_in_process(task, true);
		}
		if (sched->dispatched)
			sched->dispatched(sched->host, task);
	}
	if (!ovt_sched_next_is_bpu(task)) {
		enter_cpu_waiting(task, now);
		return false;
	}
	if (task->placed_core || (!task->span && !(cores & (cores - 1))))
		ovt_sched_placed(sched, task, (u32)__builtin_ctzll(cores) + 1);
	set_state(task, OVT_SCHED_BPU);
	act(action, OVT_SCHED_SUBMIT, task);
	action->cores = cores;
	return true;
}

static bool dispatch_from(struct ovt_sched *sched, struct ovt_sched_queue *queue, u64 now,
			  struct ovt_sched_action *action)
{
	struct ovt_sched_task *task;
	u64 cores;

	while ((task = ovt_sched_first_that_may_go(sched, queue, now, &cores))) {
		/* Such a task is in no line: it is ready, or has priority 255. */
		if (task->process->gone)
			return cancel_waiting(task, action);
		if (dispatch(sched, task, cores, now, action))
			return true;
	}
	stop_looking_at(queue);
	return false;
}

/* Runs the best placed CPU segment of @process, which has one and an idle worker. */
static void run_cpu(struct ovt_sched_process *process, u64 now, struct ovt_sched_action *action)
{
	struct ovt_sched_task *task = ovt_sched_first(&process->cpu_waiting);

	process->workers_busy++;
	leave_cpu_waiting(task);
	set_state(task, OVT_SCHED_CPU_RUNNING);
	task->segment_start = now;
	ovt_sched_run_gap(task, now);
	ovt_sched_watch(task, now);
	act(action, OVT_SCHED_RUN_CPU, task);
}

/* Makes an overdue task block no other task any more, however long its process takes. */
static void release_overdue(struct ovt_sched_task *task, u64 now)
{
	ovt_sched_unwatch(task, now);
	set_overdue(task, true);
	ovt_sched_close_gap(task);
	release_slot(task);
	if (task->counted)
		ovt_sched_discount(task);
	move_in_process(task, false);
	look_at(task->process->queue);
}

bool ovt_sched_next(struct ovt_sched *sched, u64 now, struct ovt_sched_action *action)
{
	struct ovt_sched_task *overdue = ovt_sched_next_overdue(sched);

	if (overdue && overdue->overdue_time <= now) {
		release_overdue(overdue, now);
		return act(action, OVT_SCHED_OVERDUE, overdue);
	}
	while (!ovt_tree_empty(&sched->queues)) {
		struct ovt_sched_queue *queue =
			ovt_container_of(sched->queues.first, struct ovt_sched_queue, link);

		if (dispatch_from(sched, queue, now, action))
			return true;
	}
	if (ovt_tree_empty(&sched->processes))
		return false;
	run_cpu(ovt_container_of(sched->processes.first, struct ovt_sched_process, link), now,
		action);
	return true;
}
