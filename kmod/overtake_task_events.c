// SPDX-License-Identifier: GPL-2.0-only
/*
 * The events of a process's tasks: CPU segments to be run, and ends.  Reporting the end of a task
 * collects the task.  A process has a list of its tasks with events.  The events wait there until
 * a call fetches them; neither a core nor another process waits for the call.
 */
#include <linux/uaccess.h>
#include <linux/wait.h>

#include "overtake_client.h"
#include "overtake_lock.h"
#include "overtake_task.h"

/*
 * Takes the next event; @room: number of results for which there is room.  *@ended: the task if it
 * has ended, which then belongs to the caller; else NULL.  Returns 0; -EAGAIN without an event;
 * -ENOSPC without room for it; or the error of a context that has gone.
 */
static int take_event(struct overtake_context *context, u32 room,
		      struct overtake_task_event *event, struct overtake_task **ended)
{
	struct overtake_device *device = context->client->device;
	struct ovt_service_process *process = &context->tasks->process;
	struct ovt_service_task *task;
	int ret;

	*ended = NULL;
	guard(overtake_lock)(device);
	ret = overtake_task_state_locked(context);
	if (ret)
		return ret;
	task = ovt_service_next_event(process);
	if (!task)
		return -EAGAIN;
	if (ovt_service_has_ended(task) && task->sched.segment_count > room)
		return -ENOSPC;
	*event = ovt_service_event_of(task);
	if (ovt_service_has_ended(task)) {
		ovt_service_collect(task);
		*ended = to_overtake_task(task);
		overtake_task_forget_locked(*ended);
	} else {
		ovt_service_told(task);
	}
	overtake_service_look_for_news_locked(context->tasks);
	return 0;
}

/* Returns true if there is something for which TASK_EVENTS returns. */
static bool has_news(struct overtake_context *context)
{
	struct overtake_device *device = context->client->device;
	struct overtake_task_queue *queue = context->tasks;
	bool news;

	overtake_lock(device);
	news = queue->wake || overtake_task_state_locked(context) ||
	       ovt_service_next_event(&queue->process);
	overtake_unlock(device);
	return news;
}

static int wait_for_news(struct overtake_context *context, s64 deadline_ns)
{
	ktime_t timeout;
	int ret;

	if (has_news(context))
		return 0;
	timeout = ktime_sub(ns_to_ktime(deadline_ns), ktime_get());
	if (timeout <= 0)
		return -ETIMEDOUT;
	if (deadline_ns == OVERTAKE_DEADLINE_NEVER)
		timeout = KTIME_MAX;
	ret = overtake_context_add_waiter(context);
	if (ret)
		return ret;
	ret = wait_event_interruptible_hrtimeout(context->wait, has_news(context), timeout);
	overtake_context_remove_waiter(context);
	if (ret == -ETIME)
		return -ETIMEDOUT;
	return has_news(context) ? 0 : -EINTR;
}

static int tell(const struct overtake_task_event *event, struct overtake_task *ended,
		const struct drm_overtake_task_events *args, u32 event_index, u32 result_index)
{
	struct overtake_task_event __user *events = u64_to_user_ptr(args->events);
	struct overtake_result __user *results = u64_to_user_ptr(args->results);

	if (copy_to_user(events + event_index, event, sizeof(*event)))
		return -EFAULT;
	if (ended && copy_to_user(results + result_index, ended->results,
				  event->result_count * sizeof(*ended->results)))
		return -EFAULT;
	return 0;
}

/* Reports as many events as there is room for. */
static int tell_events(struct overtake_context *context, struct drm_overtake_task_events *args)
{
	u32 event_room = args->event_count, result_room = args->result_count;
	struct overtake_task_event event;
	struct overtake_task *ended;
	int ret = 0;

	args->event_count = 0;
	args->result_count = 0;
	while (!ret && args->event_count < event_room) {
		ret = take_event(context, result_room - args->result_count, &event, &ended);
		if (ret)
			break;
		ret = tell(&event, ended, args, args->event_count, args->result_count);
		args->event_count++;
		args->result_count += event.result_count;
		if (ended)
			overtake_task_free(ended);
		cond_resched();
	}
	if (ret == -EAGAIN || ret == -ENOSPC || (ret != -EFAULT && args->event_count))
		return 0;
	return ret;
}

static void wake_up_events(struct overtake_context *context, bool wake)
{
	struct overtake_device *device = context->client->device;

	overtake_lock(device);
	context->tasks->wake = wake;
	overtake_unlock(device);
	if (wake)
		wake_up_all(&context->wait);
}

static int check_events_args(const struct drm_overtake_task_events *args)
{
	if (args->flags & ~OVERTAKE_TASK_EVENTS_WAKE)
		return -EINVAL;
	if (args->flags)
		return args->events || args->results || args->deadline_ns || args->event_count ||
		       args->result_count ? -EINVAL : 0;
	return args->deadline_ns < 0 || !args->event_count ||
	       args->result_count < OVERTAKE_MAX_SEGMENTS ? -EINVAL : 0;
}

/* May sleep. */
int overtake_task_events(struct overtake_client *client, struct drm_overtake_task_events *args)
{
	struct overtake_context *context;
	int ret = check_events_args(args);

	if (ret)
		return ret;
	context = overtake_task_find_queue(client, args->context_id);
	if (IS_ERR(context))
		return PTR_ERR(context);
	if (args->flags) {
		wake_up_events(context, true);
	} else {
		ret = wait_for_news(context, args->deadline_ns);
		if (!ret) {
			wake_up_events(context, false);
			ret = tell_events(context, args);
		}
	}
	overtake_context_put(context);
	return ret;
}

int overtake_task_events_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	return overtake_task_events(file->driver_priv, data);
}
