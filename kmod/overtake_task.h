/* SPDX-License-Identifier: GPL-2.0-only */
/* Tasks of service mode, from a client's call to their end.  See overtake_task.c. */
#ifndef OVERTAKE_TASK_H
#define OVERTAKE_TASK_H

#include "overtake_service.h"

struct overtake_job;

/**
 * struct overtake_task - a task
 * @service: the service's part
 * @context: held by a reference
 * @model: what trace events call its model, recorded only
 * @charged_bytes: bytes that its client was charged for it, without those of its jobs
 * @jobs_left: number of @jobs that were not handed to the firmware; device lock
 * @slots: command slots that are reserved for the next job, or to cancel the current one; device
 *	lock
 * @garbage: frees the task when its process has gone and the task is over
 * @jobs: jobs by segment, each with a reference; NULL: a CPU segment, or one that is over
 * @segments: the service's data of each segment
 * @keys: keys of the segments' records
 * @results: the service's result of each segment
 * @span: the scheduler's data of a task that takes several cores
 */
struct overtake_task {
	struct ovt_service_task service;
	struct overtake_context *context;
	u64 model;
	u64 charged_bytes;
	u32 jobs_left;
	u32 slots;
	struct overtake_garbage garbage;
	struct overtake_job **jobs;
	struct ovt_sched_segment *segments;
	u64 *keys;
	struct overtake_result *results;
	struct ovt_sched_span span;
};

static inline struct overtake_task *to_overtake_task(struct ovt_service_task *task)
{
	return container_of(task, struct overtake_task, service);
}

/* Returns a context that has workers, with a reference for the caller; or -ENOENT, -EINVAL. */
struct overtake_context *overtake_task_find_queue(struct overtake_client *client, u32 id);
/* May sleep. */
void overtake_task_free(struct overtake_task *task);

/* Under the device lock. */
int overtake_task_state_locked(const struct overtake_context *context);
void overtake_task_forget_locked(struct overtake_task *task);
void overtake_task_release_locked(struct overtake_task *task);

/* For both backends. */
int overtake_task_submit(struct drm_file *file, const struct drm_overtake_task_submit *args);
int overtake_task_events(struct overtake_client *client, struct drm_overtake_task_events *args);
int overtake_task_cpu_done(struct overtake_client *client,
			   const struct drm_overtake_task_cpu_done *args);
int overtake_task_cancel(struct overtake_client *client,
			 const struct drm_overtake_task_cancel *args);

int overtake_task_submit_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int overtake_task_events_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int overtake_task_cpu_done_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int overtake_task_cancel_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

#endif
