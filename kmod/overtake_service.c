// SPDX-License-Identifier: GPL-2.0-only
/*
 * Service mode: the tasks of all processes in one queue of the device.
 *
 * DOC: who decides
 *
 * firmware-sim/service decides, under the device lock: which task may go on, which events its
 * process gets, when a CPU segment is overdue.  This file is its host: it submits jobs to the
 * firmware and cancels them, wakes processes, and frees tasks of dead processes.
 * overtake_task.c has the calls of clients.
 *
 * No function that the service calls can fail or sleep: all that a task needs was created when it
 * was submitted.
 *
 * DOC: life of a queue of tasks
 *
 *	CONTEXT_CREATE		overtake_service_open_locked(); the service holds a reference to
 *				the context
 *	the context dies	overtake_service_abandon_locked(): none of its tasks goes on;
 *				running jobs are stopped at their next step.  The thread that
 *				closes the file or destroys the context ends the tasks, some at a
 *				time, or a work item does.  Meanwhile the queue is in @abandoned
 *	the last task is over	the queue is in @idle, then it is closed and its reference to the
 *				context dropped
 *
 * DOC: the manual clock
 *
 * Tasks choose when time moves on, like cores.  The caller that steps the clock lets them
 * (overtake_service_settle_locked()), so that calls of processes within an instant precede it.
 */
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <drm/drm_managed.h>

#include "overtake_client.h"
#include "overtake_clock.h"
#include "overtake_deliver.h"
#include "overtake_free.h"
#include "overtake_group.h"
#include "overtake_host.h"
#include "overtake_job.h"
#include "overtake_lock.h"
#include "overtake_service.h"
#include "overtake_task.h"
#include "overtake_trace.h"
#include "overtake_workqueues.h"

/* Queues of dead contexts that are closed in one hold of the lock. */
#define CLOSED_AT_ONCE	16u

static struct overtake_task_queue *queue_of(const struct ovt_service_task *task)
{
	return container_of(ovt_service_process_of(task), struct overtake_task_queue, process);
}

static struct overtake_device *device_of(const struct ovt_service_task *task)
{
	return queue_of(task)->context->client->device;
}

/* Functions that the service calls */

/* Gives the parts of @group the cores of its task. */
static void name_cores(struct overtake_group *group, const u32 *cores)
{
	u32 i;

	for (i = 0; i < group->fw.part_count; i++)
		group->parts[i].core = cores[i];
}

static u32 submit_job(struct ovt_service_task *task, u32 segment, u32 core, u64 cores)
{
	struct overtake_service *service = device_of(task)->service;
	struct overtake_task *own = to_overtake_task(task);
	struct overtake_job *job = own->jobs[segment];

	own->jobs_left--;
	job->fw.keeps_slot = true;
	job->tag = service->next_tag++;
	if (job->group) {
		name_cores(job->group, task->cores);
		overtake_job_start_locked(job);
		return core;
	}
	job->fw.core = core;
	job->open_cores = core ? 0 : cores;
	overtake_job_start_locked(job);
	return job->fw.core;
}

static u32 place(struct ovt_service_task *task, u64 cores)
{
	struct overtake_device *device = device_of(task);

	return ovt_fw_place(&device->fw, &device->service->context, cores);
}

/* Cancels the job of @task; a process that has gone gets no grace time for a running FC. */
static void cancel_job(struct ovt_service_task *task)
{
	struct overtake_job *job = to_overtake_task(task)->jobs[task->sched.segment];
	struct overtake_device *device = device_of(task);

	if (!job)
		return; /* it has just ended */
	overtake_job_cancel_locked(job, device->gone ? -ENODEV : -ECANCELED,
				   overtake_clock_now(device));
	if (ovt_service_process_of(task)->gone)
		ovt_fw_stop(&device->fw, &job->fw, ktime_get_ns());
}

/* Updates, for poll(), whether @queue has events, after an event came or went. */
void overtake_service_look_for_news_locked(struct overtake_task_queue *queue)
{
	struct overtake_client *client = queue->context->client;
	bool news = ovt_service_next_event(&queue->process);

	lockdep_assert_held(&client->device->lock);
	if (news && !queue->has_news)
		overtake_deliver_readable_locked(client);
	client->news_count += news - queue->has_news;
	queue->has_news = news;
}

static void wake(struct ovt_service_process *process)
{
	struct overtake_task_queue *queue =
		container_of(process, struct overtake_task_queue, process);

	overtake_service_look_for_news_locked(queue);
	overtake_deliver_wake_locked(queue->context);
}

static void close_if_idle(struct overtake_task_queue *queue)
{
	if (!queue->abandoning && ovt_service_is_idle(&queue->process))
		list_move_tail(&queue->link, &queue->context->client->device->service->idle);
}

static void release(struct ovt_service_task *task)
{
	struct overtake_task_queue *queue = queue_of(task);

	overtake_task_release_locked(to_overtake_task(task));
	close_if_idle(queue);
}

static void note(const struct ovt_service_task *task, enum ovt_service_step step)
{
	struct overtake_task_queue *queue = queue_of(task);

	switch (step) {
	case OVT_SERVICE_ARRIVED:
		trace_task_arrive(queue->context, task);
		return;
	case OVT_SERVICE_DISPATCHED:
		trace_task_dispatch(queue->context, task);
		return;
	case OVT_SERVICE_OVERDUE:
		trace_task_overdue(queue->context, task);
		return;
	case OVT_SERVICE_ENDED:
		trace_task_end(queue->context, task);
		return;
	case OVT_SERVICE_READY:
		trace_task_ready(queue->context, task);
		return;
	case OVT_SERVICE_CPU_STARTED:
		trace_task_cpu_start(queue->context, task);
		return;
	case OVT_SERVICE_CPU_DONE:
		trace_task_cpu_done(queue->context, task);
		return;
	}
}

static const struct ovt_service_host service_host = {
	.submit_job = submit_job,
	.place = place,
	.cancel_job = cancel_job,
	.wake = wake,
	.release = release,
	.note = note,
};

/* Starts the service with the administrator's settings; the firmware may still have ended jobs. */
static void init_locked(struct overtake_service *service)
{
	WARN_ON(service->open);
	ovt_service_init(&service->service, service->device->settings.cores, &service->settings,
			 &service_host, service->cores);
}

/* Restarts service mode with the administrator's settings.  No queue of tasks is open. */
void overtake_service_boot_locked(struct overtake_device *device)
{
	struct overtake_service *service = device->service;

	lockdep_assert_held(&device->lock);
	init_locked(service);
	ovt_fw_context_init(&service->context);
	if (device->settings.fair)
		ovt_fw_context_take_turns(&service->context, service->turns,
					  device->settings.cores);
	service->next_tag = 1;
}

static void abandon_work(struct work_struct *work);

static void free_turns(struct drm_device *drm, void *turns)
{
	kvfree(turns);
}

int overtake_service_init(struct overtake_device *device)
{
	u32 cores = device->settings.cores;
	struct overtake_service *service;

	service = drmm_kzalloc(&device->drm, struct_size(service, cores, cores), GFP_KERNEL);
	if (!service)
		return -ENOMEM;
	service->device = device;
	INIT_LIST_HEAD(&service->abandoned);
	INIT_LIST_HEAD(&service->idle);
	INIT_WORK(&service->abandon_work, abandon_work);
	ovt_sched_settings_init(&service->settings, true);
	device->service = service;
	if (!device->settings.fair)
		return 0;
	service->turns = kvcalloc(cores, sizeof(*service->turns), GFP_KERNEL);
	if (!service->turns)
		return -ENOMEM;
	return drmm_add_action_or_reset(&device->drm, free_turns, service->turns);
}

/* Changes the settings; -EBUSY while a queue of tasks is open, which has read them. */
int overtake_service_configure_locked(struct overtake_device *device,
				      const struct ovt_sched_settings *settings)
{
	struct overtake_service *service = device->service;

	lockdep_assert_held(&device->lock);
	if (service->open)
		return -EBUSY;
	service->settings = *settings;
	init_locked(service);
	return 0;
}

struct overtake_task_queue *overtake_task_queue_alloc(struct overtake_context *context, u32 workers)
{
	struct overtake_task_queue *queue;

	BUILD_BUG_ON(OVERTAKE_MAX_WORKERS > OVERTAKE_CONTEXT_WORKERS);
	queue = kvzalloc(struct_size(queue, lines, context->client->device->settings.cores),
			 GFP_KERNEL_ACCOUNT);
	if (!queue)
		return NULL;
	queue->context = context;
	queue->workers = workers;
	INIT_LIST_HEAD(&queue->link);
	return queue;
}

/*
 * Keeps a place of the task limit for a queue, if possible: always for a context with the right to
 * 255, which is trusted, and for a few queues of each user.
 */
static bool take_place_locked(struct overtake_service *service, struct overtake_context *context)
{
	struct overtake_user *user = context->client->user;

	if (user->kept_places >= ovt_service_places_of_a_user(service->settings.task_limit) &&
	    !overtake_context_is_privileged(context))
		return false;
	user->kept_places++;
	return true;
}

/* Opens the queue of @context, until overtake_service_run_locked() closes it. */
void overtake_service_open_locked(struct overtake_context *context)
{
	struct overtake_service *service = context->client->device->service;
	struct overtake_task_queue *queue = context->tasks;

	lockdep_assert_held(&service->device->lock);
	overtake_context_get(context);
	queue->keeps_place = take_place_locked(service, context);
	ovt_service_open(&service->service, &queue->process, queue->workers, queue->keeps_place,
			 queue->lines);
	queue->is_open = true;
	service->open++;
}

/* Ends some more tasks of @queue, whose process has gone. */
static void abandon_some_locked(struct overtake_service *service, struct overtake_task_queue *queue,
				u64 now_ns)
{
	queue->abandoning = true;
	queue->abandoning = ovt_service_abandon(&queue->process, now_ns);
	overtake_service_look_for_news_locked(queue);
	/* The queue goes to the end, so that abandoned queues take turns. */
	if (queue->abandoning)
		list_move_tail(&queue->link, &service->abandoned);
	else
		list_del_init(&queue->link);
	close_if_idle(queue);
}

/*
 * Ends the tasks of @context; a task with a job on the device ends when the job has ended.  No
 * event reports their ends.  From now on none of them is chosen.  Some tasks end now, those that
 * hold something first; the others end in overtake_service_finish_abandoning(), or ..._later(),
 * which the caller calls next.
 */
void overtake_service_abandon_locked(struct overtake_context *context, u64 now_ns)
{
	struct overtake_service *service = context->client->device->service;

	lockdep_assert_held(&service->device->lock);
	service->leaving++;
	abandon_some_locked(service, context->tasks, now_ns);
}

/*
 * Ends and frees some more tasks of @queue, or if it is NULL of the queue whose turn it is.
 * Returns false if no task is left.  May sleep.
 */
static bool abandon_more(struct overtake_service *service, struct overtake_task_queue *queue)
{
	struct overtake_device *device = service->device;
	LLIST_HEAD(ended);

	overtake_lock(device);
	if (!queue)
		queue = list_first_entry_or_null(&service->abandoned, struct overtake_task_queue,
						 link);
	if (queue && !queue->abandoning)
		queue = NULL;
	if (queue) {
		service->ended = &ended;
		abandon_some_locked(service, queue, overtake_clock_now(device));
		service->ended = NULL;
	}
	overtake_unlock(device);
	if (!queue)
		return false;
	overtake_host_kick(device);
	overtake_free_all(llist_del_all(&ended));
	cond_resched();
	return true;
}

static void abandon_work(struct work_struct *work)
{
	struct overtake_service *service =
		container_of(work, struct overtake_service, abandon_work);

	while (abandon_more(service, NULL))
		;
}

/*
 * Lets the work item end the tasks that are left of dead contexts, if there are any.  As long as
 * there are, the device is not idle, so its removal waits for them before it cancels the work item.
 */
void overtake_service_finish_abandoning_later(struct overtake_device *device)
{
	guard(overtake_lock)(device);
	if (!list_empty(&device->service->abandoned))
		queue_work(overtake_workqueue, &device->service->abandon_work);
}

/*
 * Ends the tasks that are left of @context, which has died.  The thread that closes the file or
 * destroys the context does this itself: the tasks are its own.  A kernel thread leaves them to the
 * work item: it has other processes' files to close.  May sleep.
 */
void overtake_service_finish_abandoning(struct overtake_context *context)
{
	struct overtake_device *device = context->client->device;

	if (current->flags & PF_KTHREAD)
		overtake_service_finish_abandoning_later(device);
	else
		while (abandon_more(device->service, context->tasks))
			;
}

/* No task is in flight, and none will be. */
void overtake_service_stop(struct overtake_device *device)
{
	cancel_work_sync(&device->service->abandon_work);
}

u32 overtake_service_live_locked(const struct overtake_context *context)
{
	lockdep_assert_held(&context->client->device->lock);
	return ovt_service_live(&context->tasks->process);
}

/*
 * Cancels some tasks of a banned context; events report their ends.  *@left: number of tasks to be
 * looked at.  Returns true if there are more.
 */
bool overtake_service_cancel_some_locked(struct overtake_context *context, u32 *left, bool *found)
{
	struct overtake_device *device = context->client->device;

	lockdep_assert_held(&device->lock);
	return !context->dead && ovt_service_cancel_all(&context->tasks->process, left, found,
							overtake_clock_now(device));
}

static void close_queue_locked(struct overtake_service *service, struct overtake_task_queue *queue)
{
	struct overtake_context *context = queue->context;

	ovt_service_close(&queue->process);
	list_del_init(&queue->link);
	queue->is_open = false;
	context->client->user->kept_places -= queue->keeps_place;
	service->open--;
	service->leaving--;
	if (context->killed)
		trace_ctx_destroy(context);
	overtake_deliver_wake_locked(context);
	overtake_context_put(context);
}

/* Closes some idle queues.  Returns true if there are more. */
static bool close_some_locked(struct overtake_service *service)
{
	u32 left = CLOSED_AT_ONCE;

	while (left-- && !list_empty(&service->idle))
		close_queue_locked(service, list_first_entry(&service->idle,
							     struct overtake_task_queue, link));
	return !list_empty(&service->idle);
}

/* Carries out some actions of tasks.  Returns true if there were any: there may be more. */
bool overtake_service_settle_locked(struct overtake_device *device)
{
	lockdep_assert_held(&device->lock);
	return device->service->open &&
	       ovt_service_settle(&device->service->service, overtake_clock_now(device));
}

/* Whether no queue whose process has gone has tasks that are still to be ended. */
bool overtake_service_is_settled_locked(const struct overtake_device *device)
{
	lockdep_assert_held(&device->lock);
	return list_empty(&device->service->abandoned);
}

/* Runs service mode after anything that may matter.  Returns true if there may be more to do. */
bool overtake_service_run_locked(struct overtake_device *device)
{
	struct overtake_service *service = device->service;
	bool more = false;

	if (!service->open)
		return false;
	if (!device->manual)
		more = overtake_service_settle_locked(device);
	else if (service->leaving)
		ovt_service_handle_ends(&service->service, overtake_clock_now(device));
	return close_some_locked(service) || more;
}

/* Returns when there is something to do though nothing happens, or OVT_TIME_NEVER. */
u64 overtake_service_next_locked(struct overtake_device *device)
{
	struct overtake_service *service = device->service;

	lockdep_assert_held(&device->lock);
	return service->open ? ovt_service_next_time(&service->service) : OVT_TIME_NEVER;
}

bool overtake_service_is_idle_locked(const struct overtake_device *device)
{
	lockdep_assert_held(&device->lock);
	return !device->service->tasks && !device->service->leaving;
}

/* OVERTAKE_QUERY_SERVICE of DRM_IOCTL_OVERTAKE_QUERY. */
int overtake_query_service(struct overtake_device *device, struct drm_overtake_query *args)
{
	struct drm_overtake_service_info info;
	struct ovt_sched_settings settings;
	u64 size = args->size;

	args->size = sizeof(info);
	if (!size)
		return 0;
	overtake_lock(device);
	settings = device->service->settings;
	overtake_unlock(device);
	info = (struct drm_overtake_service_info){
#define OVT_QUEUE_SETTING(name, public_name, ...)	.public_name = settings.name,
#define OVT_DEVICE_SETTING(name, public_name, ...)	.public_name = settings.name,
#include "sched/settings.inc"
	};
	return copy_to_user(u64_to_user_ptr(args->data), &info, min(size, sizeof(info))) ?
	       -EFAULT : 0;
}
