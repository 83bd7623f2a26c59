// SPDX-License-Identifier: GPL-2.0-only
/*
 * The limits of a client, and the refusals that they cause.
 *
 * The limits themselves are constants of the interface (firmware-sim/host/limits.h), except those
 * of command slots (overtake_user.h).  Each is checked where the thing that it counts is created or
 * admitted.  The function that refuses reports the limit here.
 */
#include <linux/capability.h>
#include <linux/uaccess.h>

#include <drm/drm_print.h>

#include "overtake_counters.h"
#include "overtake_drv.h"
#include "overtake_limits.h"
#include "overtake_lock.h"
#include "overtake_service.h"
#include "overtake_user.h"
#include "host/limits.h"

static const char * const names[OVERTAKE_LIMIT_COUNT] = {
	[OVERTAKE_LIMIT_CONTEXTS] = "contexts",
	[OVERTAKE_LIMIT_CONTEXT_JOBS] = "jobs of a context",
	[OVERTAKE_LIMIT_CLIENT_JOBS] = "jobs of a client",
	[OVERTAKE_LIMIT_BUFFERS] = "buffers",
	[OVERTAKE_LIMIT_CLIENT_BYTES] = "bytes of a client",
	[OVERTAKE_LIMIT_COMMANDS] = "commands of the device",
	[OVERTAKE_LIMIT_BUFFER_BYTES] = "bytes of a buffer",
	[OVERTAKE_LIMIT_FCS] = "FCs of a job",
	[OVERTAKE_LIMIT_BINDINGS] = "bindings of a job",
	[OVERTAKE_LIMIT_SCRATCH_BYTES] = "scratch of a job",
	[OVERTAKE_LIMIT_SYNCS] = "syncs of a job",
	[OVERTAKE_LIMIT_USER_COMMANDS] = "commands of a user",
	[OVERTAKE_LIMIT_TASKS] = "tasks of a context",
	[OVERTAKE_LIMIT_SEGMENTS] = "segments of a task",
	[OVERTAKE_LIMIT_USER_TASKS] = "tasks of a user",
	[OVERTAKE_LIMIT_WAITERS] = "waiting threads of a context",
	[OVERTAKE_LIMIT_STAGES] = "stages of a group",
	[OVERTAKE_LIMIT_RECORDINGS] = "recordings of a context",
	[OVERTAKE_LIMIT_INSTANCES] = "instances of a recording",
};

static u64 value(u32 limit)
{
	switch (limit) {
	case OVERTAKE_LIMIT_COMMANDS:
		return OVERTAKE_CLIENT_COMMANDS;
	case OVERTAKE_LIMIT_USER_COMMANDS:
		return OVERTAKE_USER_COMMANDS;
	default:
		return ovt_limit_value(limit);
	}
}

/*
 * overtake_refuse - note that @client is refused because of @limit (OVERTAKE_LIMIT_*)
 *
 * Returns @error, for the caller to return.  Any context, any lock.
 */
int overtake_refuse(struct overtake_client *client, u32 limit, int error)
{
	atomic64_inc(&client->refused[limit].count);
	atomic64_set(&client->refused[limit].time_ns, ktime_get_ns());
	drm_dbg_ratelimited(&client->device->drm, "client %llu exceeds the limit of %llu %s\n",
			    client->id, value(limit), names[limit]);
	return error;
}

/*
 * overtake_judge - apply a verdict of the rules on a request of @client
 *
 * Returns 0, or the errno for the caller to return.  If a limit refused the request, it is noted.
 */
int overtake_judge(struct overtake_client *client, struct ovt_verdict verdict)
{
	u32 limit = ovt_refusal_limit(verdict.reason);
	int error = ovt_refusal_error(verdict.reason);

	return limit == OVERTAKE_LIMIT_COUNT ? error : overtake_refuse(client, limit, error);
}

/* Returns the command slots in use: exact, a change by two would show a job's begin or end. */
static u64 used_commands(struct overtake_device *device)
{
	struct overtake_device_counters counters;

	if (perfmon_capable())
		overtake_device_counters_exact(device, &counters);
	else
		overtake_device_counters_coarse(device, &counters);
	return counters.commands;
}

/* Returns the number of jobs, tasks, recordings or waiting threads of a context. */
static u64 used_of(struct overtake_context *context, u32 limit)
{
	struct overtake_device *device = context->client->device;
	u64 tasks;

	if (limit == OVERTAKE_LIMIT_CONTEXT_JOBS)
		return READ_ONCE(context->job_count);
	if (limit == OVERTAKE_LIMIT_WAITERS)
		return atomic_read(&context->waiters);
	if (limit == OVERTAKE_LIMIT_RECORDINGS)
		return atomic_read(&context->recording_count);
	if (!context->tasks)
		return 0;
	overtake_lock(device);
	tasks = ovt_tree_size(&context->tasks->process.tasks);
	overtake_unlock(device);
	return tasks;
}

static u64 used(struct overtake_client *client, u32 limit)
{
	struct overtake_context *context;
	unsigned long id;
	u64 count = 0;

	switch (limit) {
	case OVERTAKE_LIMIT_BUFFERS:
		return atomic_read(&client->buffers);
	case OVERTAKE_LIMIT_CLIENT_BYTES:
		return atomic64_read(&client->bytes);
	case OVERTAKE_LIMIT_CLIENT_JOBS:
		return READ_ONCE(client->job_count);
	case OVERTAKE_LIMIT_COMMANDS:
		return used_commands(client->device);
	case OVERTAKE_LIMIT_USER_COMMANDS:
		return READ_ONCE(client->user->slots);
	case OVERTAKE_LIMIT_USER_TASKS:
		return READ_ONCE(client->user->tasks);
	case OVERTAKE_LIMIT_CONTEXTS:
	case OVERTAKE_LIMIT_CONTEXT_JOBS:
	case OVERTAKE_LIMIT_TASKS:
	case OVERTAKE_LIMIT_WAITERS:
	case OVERTAKE_LIMIT_RECORDINGS:
		mutex_lock(&client->lock);
		xa_for_each(&client->contexts, id, context)
			count = limit == OVERTAKE_LIMIT_CONTEXTS ? count + 1 :
				max(count, used_of(context, limit));
		mutex_unlock(&client->lock);
		return count;
	default:
		return 0;
	}
}

/* OVERTAKE_QUERY_LIMITS of DRM_IOCTL_OVERTAKE_QUERY. */
int overtake_query_limits(struct overtake_client *client, struct drm_overtake_query *args)
{
	struct drm_overtake_limit rows[OVERTAKE_LIMIT_COUNT];
	u64 size = min_t(u64, args->size, sizeof(rows));
	u32 i;

	args->size = sizeof(rows);
	if (!size)
		return 0;
	for (i = 0; i < OVERTAKE_LIMIT_COUNT; i++)
		rows[i] = (struct drm_overtake_limit){
			.value = value(i),
			.used = used(client, i),
			.refused = atomic64_read(&client->refused[i].count),
			.refused_ns = atomic64_read(&client->refused[i].time_ns),
		};
	return copy_to_user(u64_to_user_ptr(args->data), rows, size) ? -EFAULT : 0;
}
