/* SPDX-License-Identifier: GPL-2.0-only */
/* Service mode: the tasks of all processes in one queue.  See overtake_service.c. */
#ifndef OVERTAKE_SERVICE_H
#define OVERTAKE_SERVICE_H

#include "overtake_drv.h"
#include "service/service.h"

/**
 * struct overtake_service - the service mode of a device; device lock
 * @service: the code that decides, the same as in a device server
 * @device: the device that it belongs to
 * @context: the firmware's context of the jobs of all tasks: where contexts take turns, all tasks
 *	are one context
 * @turns: turns of @context, on a fair device; else NULL
 * @settings: the administrator's settings
 * @open: number of queues of tasks that are not closed
 * @leaving: number of open queues whose context has died
 * @abandoned: leaving queues with tasks that are still to be ended, which take turns
 * @abandon_work: ends tasks of @abandoned where the thread that closes the file or destroys the
 *	context does not
 * @ended: list for tasks that end while abandoned ones are ended; NULL otherwise
 * @idle: leaving queues without tasks, to be closed
 * @tasks: number of tasks of all queues, until their ends are collected
 * @next_tag: tag of the next job of a task
 * @cores: the scheduler's state of each core
 */
struct overtake_service {
	struct ovt_service service;
	struct overtake_device *device;
	struct ovt_fw_context context;
	struct ovt_fw_turn *turns;
	struct ovt_sched_settings settings;
	u32 open;
	u32 leaving;
	struct list_head abandoned;
	struct work_struct abandon_work;
	struct llist_head *ended;
	struct list_head idle;
	u32 tasks;
	u64 next_tag;
	struct ovt_sched_queue_core cores[];
};

/**
 * struct overtake_task_queue - the tasks of a context; device lock
 * @process: the service's part
 * @context: the context that it belongs to; held by a reference until the queue is closed
 * @link: in overtake_service.abandoned, then in overtake_service.idle
 * @workers: number of CPU segments that its process runs at a time
 * @is_open: the service knows @process
 * @keeps_place: it counts for overtake_user.kept_places
 * @abandoning: its process has gone, and some of its tasks are still to be ended
 * @has_news: there were events at the last look
 * @wake: TASK_EVENTS is to return
 * @lines: lines of the scheduler, one for each core
 */
struct overtake_task_queue {
	struct ovt_service_process process;
	struct overtake_context *context;
	struct list_head link;
	u32 workers;
	bool is_open;
	bool keeps_place;
	bool abandoning;
	bool has_news;
	bool wake;
	struct ovt_sched_line lines[];
};

int overtake_service_init(struct overtake_device *device);
void overtake_service_stop(struct overtake_device *device);
void overtake_service_finish_abandoning(struct overtake_context *context);
void overtake_service_finish_abandoning_later(struct overtake_device *device);

/* Creates the queue of @context, in process context; NULL without memory. */
struct overtake_task_queue *overtake_task_queue_alloc(struct overtake_context *context,
						      u32 workers);

/* All of these are called under the device lock. */
void overtake_service_boot_locked(struct overtake_device *device);
void overtake_service_open_locked(struct overtake_context *context);
void overtake_service_look_for_news_locked(struct overtake_task_queue *queue);
void overtake_service_abandon_locked(struct overtake_context *context, u64 now_ns);
bool overtake_service_cancel_some_locked(struct overtake_context *context, u32 *left, bool *found);
u32 overtake_service_live_locked(const struct overtake_context *context);
bool overtake_service_run_locked(struct overtake_device *device);
bool overtake_service_settle_locked(struct overtake_device *device);
bool overtake_service_is_settled_locked(const struct overtake_device *device);
u64 overtake_service_next_locked(struct overtake_device *device);
bool overtake_service_is_idle_locked(const struct overtake_device *device);
int overtake_service_configure_locked(struct overtake_device *device,
				      const struct ovt_sched_settings *settings);

int overtake_query_service(struct overtake_device *device, struct drm_overtake_query *args);

#endif
