// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "service/service.h"

static struct ovt_service *service_of(const struct ovt_service_task *task)
{
	return ovt_service_process_of(task)->service;
}

static bool tag_before(const void *context, const struct ovt_tree_node *a,
		       const struct ovt_tree_node *b)
{
	(void)context;
	return ovt_container_of(a, struct ovt_service_task, of_tasks)->tag <
	       ovt_container_of(b, struct ovt_service_task, of_tasks)->tag;
}

static bool end_before(const void *context, const struct ovt_tree_node *a,
		       const struct ovt_tree_node *b)
{
	(void)context;
	return ovt_container_of(a, struct ovt_service_task, of_ends)->sched.dispatch_sequence <
	       ovt_container_of(b, struct ovt_service_task, of_ends)->sched.dispatch_sequence;
}

void ovt_service_init(struct ovt_service *service, u32 core_count,
		      const struct ovt_sched_settings *settings,
		      const struct ovt_service_host *host, struct ovt_sched_queue_core *cores)
{
	memset(service, 0, sizeof(*service));
	ovt_sched_init(&service->sched, core_count, settings);
	ovt_sched_add_queue(&service->sched, &service->queue, cores);
	service->host = host;
}

void ovt_service_open(struct ovt_service *service, struct ovt_service_process *process,
		      u32 workers, bool keeps_place, struct ovt_sched_line *lines)
{
	memset(process, 0, sizeof(*process));
	process->service = service;
	ovt_list_init(&process->events);
	ovt_sched_add_process(&service->sched, &process->sched, &service->queue, lines);
	process->sched.worker_count = workers;
	process->sched.no_kept_place = !keeps_place;
}

u32 ovt_service_places_of_a_user(u32 task_limit)
{
	return task_limit < 4 ? 1 : task_limit / 4;
}

bool ovt_service_is_idle(const struct ovt_service_process *process)
{
	return ovt_tree_empty(&process->tasks);
}

void ovt_service_close(struct ovt_service_process *process)
{
	ovt_sched_remove_process(&process->sched);
}

struct ovt_service_task *ovt_service_find(struct ovt_service_process *process, u64 tag)
{
	struct ovt_tree_node *node = process->tasks.root;

	while (node) {
		struct ovt_service_task *task =
			ovt_container_of(node, struct ovt_service_task, of_tasks);

		if (task->tag == tag)
			return task;
		node = tag < task->tag ? node->left : node->right;
	}
	return NULL;
}

s32 ovt_service_check_task(u32 segment_count, u32 priority, u32 core, u32 cores, u32 max_priority)
{
	if (!segment_count || priority > OVERTAKE_PRIORITY_HIGH || core > cores)
		return -EINVAL;
	if (segment_count > OVT_SERVICE_MAX_SEGMENTS)
		return -E2BIG;
	return priority > max_priority ? -EPERM : 0;
}

s32 ovt_service_check_width(u32 width, u32 most, u32 core, u32 cores)
{
	return width && width <= cores && width == most && core == OVERTAKE_CORE_ANY ? 0 : -EINVAL;
}

s32 ovt_service_check_room(struct ovt_service_process *process, u64 tag)
{
	if (ovt_service_find(process, tag))
		return -EEXIST;
	return ovt_tree_size(&process->tasks) < OVT_SERVICE_MAX_TASKS ? 0 : -ENOSPC;
}

static void note(const struct ovt_service_task *task, enum ovt_service_step step)
{
	service_of(task)->host->note(task, step);
}

/* @task has an event for its process. */
static void tell(struct ovt_service_task *task)
{
	struct ovt_service_process *process = ovt_service_process_of(task);

	if (ovt_list_empty(&task->of_events))
		ovt_list_append(&process->events, &task->of_events);
	process->service->host->wake(process);
}

static void forget_end(struct ovt_service_task *task)
{
	struct ovt_service *service = service_of(task);

	if (ovt_tree_holds(&task->of_ends))
		ovt_tree_remove(&service->ends, &task->of_ends, &service->sched.steps);
}

void ovt_service_collect(struct ovt_service_task *task)
{
	struct ovt_service_process *process = ovt_service_process_of(task);

	ovt_list_remove(&task->of_events);
	ovt_tree_remove(&process->tasks, &task->of_tasks, &process->service->sched.steps);
}

static void release(struct ovt_service_task *task)
{
	ovt_service_collect(task);
	service_of(task)->host->release(task);
}

static void end_task(struct ovt_service_task *task, u64 now)
{
	struct ovt_service_process *process = ovt_service_process_of(task);

	forget_end(task);
	if (!task->status && task->sched.cancelled)
		task->status = -ECANCELED;
	task->end_time = now;
	process->ended++;
	note(task, OVT_SERVICE_ENDED);
	if (process->gone)
		release(task);
	else
		tell(task);
}

/* The first segment of @task begins: it has been dispatched, and that was not noted yet. */
static void note_dispatch(struct ovt_service_task *task)
{
	struct ovt_service_process *process = ovt_service_process_of(task);

	if (task->is_dispatch_noted)
		return;
	task->is_dispatch_noted = true;
	process->waited_ns += task->sched.dispatch_time - task->sched.arrival_time;
	note(task, OVT_SERVICE_DISPATCHED);
}

/* Chooses the cores of @task, those with the least to do first.  Returns them as bits. */
static u64 settle_cores(struct ovt_service *service, struct ovt_service_task *task, u64 open)
{
	u32 width = task->sched.span ? task->sched.span->width : 1;
	u64 taken = 0;
	u32 i;

	for (i = 0; i < width; i++) {
		task->cores[i] = service->host->place(task, open & ~taken);
		taken |= 1ull << (task->cores[i] - 1);
	}
	return taken;
}

/* Submits a job of a task with groups, whose cores are chosen before its first job. */
static void submit_job_of_groups(struct ovt_service *service, const struct ovt_sched_action *action)
{
	struct ovt_service_task *task = ovt_service_task_of(action->task);
	u64 cores = 0;

	if (!action->core)
		cores = settle_cores(service, task, action->cores);
	else if (!task->sched.span)
		task->cores[0] = action->core;
	service->host->submit_job(task, action->segment, task->cores[0], 0);
	if (action->core)
		return;
	if (task->sched.span)
		ovt_sched_placed_on(&service->sched, action->task, task->cores[0], cores);
	else
		ovt_sched_placed(&service->sched, action->task, task->cores[0]);
}

static void submit_job(struct ovt_service *service, const struct ovt_sched_action *action)
{
	struct ovt_service_task *task = ovt_service_task_of(action->task);
	u32 core;

	if (task->cores) {
		submit_job_of_groups(service, action);
		return;
	}
	core = service->host->submit_job(task, action->segment, action->core, action->cores);
	if (!action->core)
		ovt_sched_placed(&service->sched, action->task, core);
}

static void carry_out(struct ovt_service *service, const struct ovt_sched_action *action, u64 now)
{
	struct ovt_service_task *task = ovt_service_task_of(action->task);

	switch (action->type) {
	case OVT_SCHED_SUBMIT:
		note_dispatch(task);
		submit_job(service, action);
		return;
	case OVT_SCHED_RUN_CPU:
		note_dispatch(task);
		task->results[action->segment].queued_ns = now;
		task->results[action->segment].start_ns = now;
		note(task, OVT_SERVICE_CPU_STARTED);
		tell(task);
		return;
	case OVT_SCHED_CANCEL_JOB:
		service->host->cancel_job(task);
		return;
	case OVT_SCHED_OVERDUE:
		ovt_service_process_of(task)->overdue++;
		note(task, OVT_SERVICE_OVERDUE);
		return;
	case OVT_SCHED_END:
		end_task(task, now);
		return;
	}
}

void ovt_service_handle_ends(struct ovt_service *service, u64 now)
{
	struct ovt_sched_action action;

	while (!ovt_tree_empty(&service->ends)) {
		struct ovt_service_task *task =
			ovt_container_of(service->ends.first, struct ovt_service_task, of_ends);

		forget_end(task);
		if (ovt_sched_segment_ended(&service->sched, &task->sched, task->segment_ok, now,
					    &action))
			carry_out(service, &action, now);
		else if (task->sched.state == OVT_SCHED_READY)
			note(task, OVT_SERVICE_READY);
	}
}

/* Live tasks end first: from the first call on none of them goes on.  Then ended ones are freed. */
bool ovt_service_abandon(struct ovt_service_process *process, u64 now)
{
	struct ovt_service *service = process->service;
	u32 left = OVT_SERVICE_ABANDONED_AT_ONCE;
	struct ovt_sched_action action;

	process->gone = true;
	for (; ovt_sched_abandon(&service->sched, &process->sched, &action); left--) {
		carry_out(service, &action, now);
		if (left == 1)
			return true;
	}
	for (; !ovt_list_empty(&process->events); left--) {
		struct ovt_service_task *task =
			ovt_container_of(process->events.next, struct ovt_service_task, of_events);

		if (!left)
			return true;
		if (ovt_service_has_ended(task))
			release(task);
		else
			ovt_list_remove(&task->of_events);
	}
	return false;
}

/*
 * Sets the expected times of segments: the client's estimate counts only without a record, and CPU
 * segments count for at most OVT_SERVICE_MAX_CPU_NS together.
 */
static void take_times(struct ovt_service_process *process, struct ovt_service_task *task)
{
	u64 cpu_left = OVT_SERVICE_MAX_CPU_NS;
	u32 i;

	for (i = 0; i < task->sched.segment_count; i++) {
		struct ovt_sched_segment *segment = &task->segments[i];

		segment->time = ovt_records_time(&process->records, task->keys[i], segment->time);
		if (segment->fc_count)
			continue;
		if (segment->time > cpu_left)
			segment->time = cpu_left;
		cpu_left -= segment->time;
	}
}

void ovt_service_submit(struct ovt_service_process *process, struct ovt_service_task *task, u64 now)
{
	struct ovt_service *service = process->service;

	task->status = 0;
	task->end_time = 0;
	task->is_dispatch_noted = false;
	ovt_service_handle_ends(service, now);
	task->of_ends.size = 0;
	ovt_list_init(&task->of_events);
	take_times(process, task);
	task->sched.process = &process->sched;
	task->sched.segments = task->segments;
	ovt_tree_insert(&process->tasks, &task->of_tasks, tag_before, NULL, &service->sched.steps);
	note(task, OVT_SERVICE_ARRIVED);
	ovt_sched_arrive(&service->sched, &task->sched, now);
}

static void segment_is_over(struct ovt_service_task *task, s32 status)
{
	struct ovt_service *service = service_of(task);

	task->segment_ok = !status;
	if (status)
		task->status = status;
	ovt_tree_insert(&service->ends, &task->of_ends, end_before, NULL, &service->sched.steps);
}

s32 ovt_service_cpu_done(struct ovt_service_task *task, u32 segment, s32 status, u64 now)
{
	struct ovt_service_process *process = ovt_service_process_of(task);
	struct overtake_result *result;
	u64 took;

	if (status > 0 || status < -OVT_SERVICE_MAX_ERRNO)
		return -EINVAL;
	if (task->sched.state != OVT_SCHED_CPU_RUNNING || task->sched.segment != segment ||
	    !ovt_list_empty(&task->of_events) || ovt_tree_holds(&task->of_ends))
		return -EINVAL;
	took = now - task->sched.segment_start;
	result = &task->results[segment];
	result->end_ns = now;
	result->executed_ns = took;
	result->status = status;
	if (!status)
		ovt_records_note(&process->records, task->keys[segment], took);
	segment_is_over(task, status);
	note(task, OVT_SERVICE_CPU_DONE);
	return 0;
}

void ovt_service_job_ended(struct ovt_service_task *task, const struct overtake_result *result,
			   u64 took)
{
	struct ovt_service_process *process = ovt_service_process_of(task);
	u32 segment = task->sched.segment;

	task->results[segment] = *result;
	if (!result->status)
		ovt_records_note(&process->records, task->keys[segment], took);
	segment_is_over(task, result->status);
}

s32 ovt_service_cancel(struct ovt_service_task *task, u64 now)
{
	struct ovt_service *service = service_of(task);
	struct ovt_sched_action action;

	ovt_service_handle_ends(service, now);
	if (ovt_service_has_ended(task))
		return -ENOENT;
	if (ovt_sched_cancel(&service->sched, &task->sched, &action))
		carry_out(service, &action, now);
	return 0;
}

bool ovt_service_cancel_all(struct ovt_service_process *process, u32 *left, bool *found, u64 now)
{
	struct ovt_list *tasks = &process->sched.tasks;
	u32 steps = OVT_SERVICE_STEPS_AT_ONCE;

	ovt_service_handle_ends(process->service, now);
	for (; *left && steps && !ovt_list_empty(tasks); --*left, steps--) {
		struct ovt_list *link = tasks->next;
		struct ovt_sched_task *task =
			ovt_container_of(link, struct ovt_sched_task, of_process);

		/* A task that does not end at once goes behind those still to be handled. */
		ovt_list_remove(link);
		ovt_list_append(tasks, link);
		*found |= !task->cancelled;
		ovt_service_cancel(ovt_service_task_of(task), now);
	}
	return *left && !ovt_list_empty(tasks);
}

bool ovt_service_settle(struct ovt_service *service, u64 now)
{
	struct ovt_sched_action action;
	bool was_something = !ovt_tree_empty(&service->ends);
	u32 left = OVT_SERVICE_STEPS_AT_ONCE;

	ovt_service_handle_ends(service, now);
	while (left-- && ovt_sched_next(&service->sched, now, &action)) {
		was_something = true;
		carry_out(service, &action, now);
	}
	return was_something;
}

u64 ovt_service_next_time(const struct ovt_service *service)
{
	return ovt_sched_next_time(&service->sched);
}

struct ovt_service_task *ovt_service_next_event(struct ovt_service_process *process)
{
	if (ovt_list_empty(&process->events))
		return NULL;
	return ovt_container_of(process->events.next, struct ovt_service_task, of_events);
}

struct overtake_task_event ovt_service_event_of(const struct ovt_service_task *task)
{
	if (!ovt_service_has_ended(task))
		return (struct overtake_task_event){
			.tag = task->tag,
			.type = OVERTAKE_TASK_RUN_CPU,
			.segment = task->sched.segment,
			.start_ns = task->sched.segment_start,
		};
	return (struct overtake_task_event){
		.tag = task->tag,
		.type = OVERTAKE_TASK_ENDED,
		.status = task->status,
		.core = task->sched.placed_core,
		.arrived_ns = task->sched.arrival_time,
		.dispatched_ns = task->sched.dispatch_time,
		.ended_ns = task->end_time,
		.result_count = task->sched.segment_count,
	};
}

void ovt_service_told(struct ovt_service_task *task)
{
	ovt_list_remove(&task->of_events);
}

struct ovt_service_counts ovt_service_count(const struct ovt_service_process *process)
{
	const u32 *in_state = process->sched.in_state;
	u32 dispatched = in_state[OVT_SCHED_READY] + in_state[OVT_SCHED_CPU_WAITING] +
			 in_state[OVT_SCHED_CPU_RUNNING] + in_state[OVT_SCHED_BPU];

	return (struct ovt_service_counts){
		.waiting = in_state[OVT_SCHED_WAITING],
		.ready = in_state[OVT_SCHED_READY],
		.dispatched = dispatched,
		.overdue = process->sched.overdue,
		.slots = process->sched.slots,
		.uncollected = ovt_tree_size(&process->tasks) - dispatched -
			       in_state[OVT_SCHED_WAITING],
	};
}
