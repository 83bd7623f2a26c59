// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The life of a task: waiting, ready, on a CPU worker, on the device, over.
 *
 * Only ovt_sched_next() dispatches.  It looks at a queue's waiting tasks from the best placed
 * and takes the first that may go; sched/dispatch.c says who may.  The other calls only move tasks
 * and note that there is something to look at.
 */
#include "sched/internal.h"

void ovt_sched_init(struct ovt_sched *sched, const struct ovt_sched_config *config)
{
	memset(sched, 0, sizeof(*sched));
	sched->config = *config;
	ovt_list_init(&sched->queues);
	ovt_list_init(&sched->processes);
}

/* Something may go in @queue: it is to be looked at, in its place among the others. */
static void look_at(struct ovt_sched_queue *queue)
{
	struct ovt_list *head = &queue->sched->queues;
	struct ovt_list *after = head->previous;

	if (!ovt_list_empty(&queue->link))
		return;
	while (after != head &&
	       ovt_container_of(after, struct ovt_sched_queue, link)->place > queue->place)
		after = after->previous;
	ovt_list_append(after->next, &queue->link);
}

/* The same for @process, if it has a CPU segment waiting and a worker idle. */
static void look_at_workers(struct ovt_sched_process *process)
{
	struct ovt_sched *sched = process->queue->sched;
	struct ovt_list *head = &sched->processes;
	struct ovt_list *after = head->previous;

	if (!ovt_list_empty(&process->link) || ovt_list_empty(&process->cpu_waiting) ||
	    process->workers_busy >= sched->config.worker_count)
		return;
	while (after != head &&
	       ovt_container_of(after, struct ovt_sched_process, link)->place > process->place)
		after = after->previous;
	ovt_list_append(after->next, &process->link);
}

void ovt_sched_add_queue(struct ovt_sched *sched, struct ovt_sched_queue *queue)
{
	memset(queue, 0, sizeof(*queue));
	queue->sched = sched;
	queue->place = ++sched->next_place;
	ovt_list_init(&queue->link);
	ovt_list_init(&queue->waiting);
	ovt_list_init(&queue->holders);
}

void ovt_sched_remove_queue(struct ovt_sched_queue *queue)
{
	ovt_list_remove(&queue->link);
}

void ovt_sched_add_process(struct ovt_sched *sched, struct ovt_sched_process *process,
			   struct ovt_sched_queue *queue)
{
	process->queue = queue;
	process->place = ++sched->next_place;
	process->workers_busy = 0;
	ovt_list_init(&process->link);
	ovt_list_init(&process->cpu_waiting);
}

void ovt_sched_remove_process(struct ovt_sched_process *process)
{
	ovt_list_remove(&process->link);
}

static bool act(struct ovt_sched_action *action, enum ovt_sched_action_type type,
		struct ovt_sched_task *task)
{
	action->type = type;
	action->task = task;
	action->segment = task->segment;
	action->core = task->placed_core;
	return true;
}

static void count_wanted(struct ovt_sched_wanted *wanted, u32 core, u32 change)
{
	u64 bit;

	if (!core) {
		wanted->any += change;
		return;
	}
	bit = 1ull << (core - 1);
	wanted->on[core - 1] += change;
	wanted->cores = wanted->on[core - 1] ? wanted->cores | bit : wanted->cores & ~bit;
}

static void count_waiting(struct ovt_sched_task *task, u32 change)
{
	struct ovt_sched_queue *queue = task->process->queue;

	if (ovt_sched_is_high(task))
		queue->waiting_high += change;
	else if (task->state == OVT_SCHED_READY)
		count_wanted(&queue->wanted_ready, task->core, change);
	else if (ovt_sched_next_is_bpu(task))
		count_wanted(&queue->wanted, task->core, change);
	else
		queue->waiting_cpu_first += change;
}

/* Whether @a goes before @b: by the policy, then by what came first. */
static bool goes_before(const struct ovt_sched *sched, const struct ovt_sched_task *a,
			const struct ovt_sched_task *b, bool on_cpu)
{
	int order = sched->config.policy->compare(a, b);

	if (order)
		return order < 0;
	return on_cpu ? a->dispatch_sequence < b->dispatch_sequence :
			a->arrival_sequence < b->arrival_sequence;
}

/*
 * Puts @task in its place in a sorted list.  From both ends at once: an arrival mostly belongs near
 * the end, and a task that comes back or goes first near the beginning.
 */
static void insert(const struct ovt_sched *sched, struct ovt_list *head,
		   struct ovt_sched_task *task, bool on_cpu)
{
	struct ovt_list *front = head->next;
	struct ovt_list *back = head->previous;

	for (;;) {
		if (back == head ||
		    !goes_before(sched, task, ovt_container_of(back, struct ovt_sched_task, link),
				 on_cpu)) {
			ovt_list_append(back->next, &task->link);
			return;
		}
		if (goes_before(sched, task, ovt_container_of(front, struct ovt_sched_task, link),
				on_cpu)) {
			ovt_list_append(front, &task->link);
			return;
		}
		back = back->previous;
		front = front->next;
	}
}

static void enter_waiting(struct ovt_sched *sched, struct ovt_sched_task *task)
{
	struct ovt_sched_queue *queue = task->process->queue;

	insert(sched, &queue->waiting, task, false);
	count_waiting(task, 1);
	look_at(queue);
}

static void leave_waiting(struct ovt_sched_task *task)
{
	count_waiting(task, -1u);
	ovt_list_remove(&task->link);
}

static void enter_cpu_waiting(struct ovt_sched *sched, struct ovt_sched_task *task)
{
	insert(sched, &task->process->cpu_waiting, task, true);
	task->state = OVT_SCHED_CPU_WAITING;
	look_at_workers(task->process);
}

static void take_slot(struct ovt_sched_task *task)
{
	struct ovt_sched_queue *queue = task->process->queue;

	if (ovt_sched_is_high(task))
		return;
	task->holds_slot = true;
	queue->holders_on[task->placed_core - 1]++;
	ovt_list_append(&queue->holders, &task->holder_link);
}

static void release_slot(struct ovt_sched_task *task)
{
	struct ovt_sched_queue *queue = task->process->queue;

	if (!task->holds_slot)
		return;
	task->holds_slot = false;
	look_at(queue);
	queue->holders_on[task->placed_core - 1]--;
	ovt_list_remove(&task->holder_link);
}

static bool end_task(struct ovt_sched_task *task, struct ovt_sched_action *action)
{
	struct ovt_sched_queue *queue = task->process->queue;

	release_slot(task);
	if (task->dispatch_sequence && !ovt_sched_is_high(task))
		queue->dispatched--;
	look_at(queue);
	task->state = OVT_SCHED_ENDED;
	return act(action, OVT_SCHED_END, task);
}

void ovt_sched_arrive(struct ovt_sched *sched, struct ovt_sched_task *task, u64 now)
{
	u32 segment;

	task->segment = 0;
	task->placed_core = 0;
	task->bpu_left = 0;
	task->bpu_time = 0;
	task->cancelled = false;
	task->holds_slot = false;
	task->dispatch_sequence = 0;
	task->dispatch_time = 0;
	task->segment_start = 0;
	task->arrival_sequence = ++sched->next_arrival;
	task->arrival_time = now;
	for (segment = 0; segment < task->segment_count; segment++) {
		if (!task->segments[segment].fc_count)
			continue;
		task->bpu_left++;
		task->bpu_time += task->segments[segment].time;
	}
	task->state = OVT_SCHED_WAITING;
	enter_waiting(sched, task);
}

/* A segment after the first: the device or a worker at once, the first BPU segment in its turn. */
static bool go_on(struct ovt_sched *sched, struct ovt_sched_task *task,
		  struct ovt_sched_action *action)
{
	task->segment++;
	if (task->segment == task->segment_count)
		return end_task(task, action);
	if (!ovt_sched_next_is_bpu(task)) {
		enter_cpu_waiting(sched, task);
		look_at(task->process->queue);
		return false;
	}
	if (!ovt_sched_has_begun_bpu(task)) {
		task->state = OVT_SCHED_READY;
		enter_waiting(sched, task);
		return false;
	}
	task->state = OVT_SCHED_BPU;
	return act(action, OVT_SCHED_SUBMIT, task);
}

bool ovt_sched_segment_ended(struct ovt_sched *sched, struct ovt_sched_task *task, bool ok,
			     struct ovt_sched_action *action)
{
	if (task->state == OVT_SCHED_CPU_RUNNING) {
		task->process->workers_busy--;
		look_at_workers(task->process);
	} else {
		task->bpu_left--;
		if (!task->bpu_left)
			release_slot(task);
	}
	if (!ok || task->cancelled)
		return end_task(task, action);
	return go_on(sched, task, action);
}

bool ovt_sched_cancel(struct ovt_sched *sched, struct ovt_sched_task *task,
		      struct ovt_sched_action *action)
{
	(void)sched;
	if (task->cancelled)
		return false;
	switch (task->state) {
	case OVT_SCHED_WAITING:
	case OVT_SCHED_READY:
		task->cancelled = true;
		leave_waiting(task);
		return end_task(task, action);
	case OVT_SCHED_CPU_WAITING:
		task->cancelled = true;
		ovt_list_remove(&task->link);
		return end_task(task, action);
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

/* The first step of a dispatched task, or the first BPU segment of a ready one. */
static bool dispatch(struct ovt_sched *sched, struct ovt_sched_task *task, u32 core, u64 now,
		     struct ovt_sched_action *action)
{
	leave_waiting(task);
	if (!task->dispatch_sequence) {
		task->dispatch_sequence = ++sched->next_dispatch;
		task->dispatch_time = now;
		if (!ovt_sched_is_high(task))
			task->process->queue->dispatched++;
	}
	if (!ovt_sched_next_is_bpu(task)) {
		enter_cpu_waiting(sched, task);
		return false;
	}
	task->placed_core = core;
	take_slot(task);
	task->state = OVT_SCHED_BPU;
	return act(action, OVT_SCHED_SUBMIT, task);
}

static bool dispatch_from(struct ovt_sched *sched, struct ovt_sched_queue *queue, u64 now,
			  struct ovt_sched_action *action)
{
	struct ovt_sched_task *task;
	u32 core;

	while ((task = ovt_sched_first_that_may_go(sched, queue, now, &core))) {
		if (dispatch(sched, task, core, now, action))
			return true;
	}
	ovt_list_remove(&queue->link);
	return false;
}

/* The best placed CPU segment of @process; it leaves the list when there is nothing more to run. */
static bool run_cpu(struct ovt_sched *sched, struct ovt_sched_process *process, u64 now,
		    struct ovt_sched_action *action)
{
	struct ovt_sched_task *task;

	/* Its last one may have been cancelled since. */
	if (ovt_list_empty(&process->cpu_waiting)) {
		ovt_list_remove(&process->link);
		return false;
	}
	task = ovt_container_of(process->cpu_waiting.next, struct ovt_sched_task, link);
	ovt_list_remove(&task->link);
	process->workers_busy++;
	if (ovt_list_empty(&process->cpu_waiting) ||
	    process->workers_busy >= sched->config.worker_count)
		ovt_list_remove(&process->link);
	task->state = OVT_SCHED_CPU_RUNNING;
	task->segment_start = now;
	return act(action, OVT_SCHED_RUN_CPU, task);
}

bool ovt_sched_next(struct ovt_sched *sched, u64 now, struct ovt_sched_action *action)
{
	while (!ovt_list_empty(&sched->queues)) {
		struct ovt_sched_queue *queue =
			ovt_container_of(sched->queues.next, struct ovt_sched_queue, link);

		if (dispatch_from(sched, queue, now, action))
			return true;
	}
	while (!ovt_list_empty(&sched->processes)) {
		struct ovt_sched_process *process =
			ovt_container_of(sched->processes.next, struct ovt_sched_process, link);

		if (run_cpu(sched, process, now, action))
			return true;
	}
	return false;
}
