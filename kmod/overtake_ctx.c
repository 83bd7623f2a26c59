// SPDX-License-Identifier: GPL-2.0-only
/*
 * Clients (open files) and contexts (their queues), from their beginning to their end.  In between
 * overtake_client.c refers to them, charges and finds them.
 */
#include <linux/capability.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_print.h>

#include "overtake_client.h"
#include "overtake_clock.h"
#include "overtake_collect.h"
#include "overtake_core_limits.h"
#include "overtake_ctx.h"
#include "overtake_deliver.h"
#include "overtake_drv.h"
#include "overtake_faults.h"
#include "overtake_free.h"
#include "overtake_gem.h"
#include "overtake_host.h"
#include "overtake_job.h"
#include "overtake_limits.h"
#include "overtake_lock.h"
#include "overtake_plug.h"
#include "overtake_recording.h"
#include "overtake_service.h"
#include "overtake_trace.h"
#include "overtake_user.h"

/* The first device address: 0, and small offsets from it, are never valid addresses. */
#define FIRST_ADDRESS	BIT_ULL(32)

int overtake_client_open(struct drm_device *drm, struct drm_file *file)
{
	struct overtake_device *device = to_overtake_device(drm);
	struct overtake_client *client;
	int ret = 0;

	client = kzalloc(struct_size(client, usage, device->settings.cores), GFP_KERNEL_ACCOUNT);
	if (!client)
		return -ENOMEM;
	client->user = overtake_user_get(device);
	if (!client->user) {
		kfree(client);
		return -ENOMEM;
	}
	kref_init(&client->ref);
	client->device = device;
	client->id = file->client_id;
	client->tgid = task_tgid_nr(current);
	get_task_comm(client->comm, current->group_leader);
	mutex_init(&client->lock);
	overtake_deliver_init_client(client);
	overtake_plug_init_client(client);
	overtake_free_init_client(client);
	xa_init_flags(&client->contexts, XA_FLAGS_ALLOC1);
	mt_init(&client->space);
	xa_init(&client->mapped);
	client->next_address = FIRST_ADDRESS;

	overtake_lock(device);
	if (device->gone)
		ret = -ENODEV;
	else
		device->files++;
	overtake_unlock(device);
	if (ret) {
		overtake_user_put(client->user);
		kfree(client);
		return ret;
	}
	drm_dev_get(drm);
	file->driver_priv = client;
	return 0;
}

static bool serial_less(struct rb_node *node, const struct rb_node *other)
{
	return rb_entry(node, struct overtake_context, node)->serial <
	       rb_entry(other, struct overtake_context, node)->serial;
}

static int admit(struct overtake_context *context)
{
	struct overtake_device *device = context->client->device;
	u32 limit_slots = context->core_limit ? device->settings.cores : 0;
	int ret;

	guard(overtake_lock)(device);
	if (device->gone)
		return -ENODEV;
	ret = overtake_user_add_context_locked(context->client, overtake_context_slots(context),
					       limit_slots,
					       overtake_context_is_privileged(context));
	if (ret)
		return ret;
	kref_get(&context->ref); /* the firmware's */
	device->live_contexts++;
	if (overtake_context_is_privileged(context))
		context->client->is_privileged = true;
	context->serial = ++device->context_serial;
	rb_add_cached(&context->node, &device->contexts, serial_less);
	if (context->core_limit)
		list_add_tail(&context->limiting_link, &device->limiting);
	if (context->tasks)
		overtake_service_open_locked(context);
	trace_ctx_create(context);
	overtake_core_limits_update_locked(device, limit_slots, context->client->tgid);
	return 0;
}

/* Makes @context known to the device; from here on it has to be killed. */
static int context_start(struct overtake_context *context)
{
	int ret = admit(context);

	if (!ret)
		overtake_host_kick(context->client->device);
	return ret;
}

/* Allocates a context.  Its flags have been checked: they are a number of workers, or 0. */
static struct overtake_context *context_alloc(struct overtake_client *client,
					      const struct drm_overtake_context_create *args)
{
	const struct overtake_settings *settings = &client->device->settings;
	u32 turns = settings->fair ? settings->cores : 0;
	struct overtake_context *context = kzalloc(struct_size(context, turns, turns),
						   GFP_KERNEL_ACCOUNT);

	if (!context)
		return NULL;
	kref_init(&context->ref);
	overtake_client_get(client);
	context->client = client;
	context->max_priority = args->max_priority;
	context->core_limit = args->core_limit;
	context->jobs = RB_ROOT;
	xa_init_flags(&context->recordings, XA_FLAGS_ALLOC1);
	RB_CLEAR_NODE(&context->node);
	INIT_LIST_HEAD(&context->limiting_link);
	INIT_LIST_HEAD(&context->ended);
	INIT_LIST_HEAD(&context->wake_link);
	init_waitqueue_head(&context->wait);
	ovt_fw_context_init(&context->fw);
	if (settings->fair)
		ovt_fw_context_take_turns(&context->fw, context->turns, settings->cores);
	overtake_offence_init(context);
	if (!args->flags)
		return context;
	context->tasks = overtake_task_queue_alloc(context, args->flags);
	if (context->tasks)
		return context;
	overtake_context_put(context);
	return NULL;
}

/* Ends the jobs of a dead context that the firmware does not have: blocked ones, and ended ones. */
static void end_jobs(struct overtake_context *context)
{
	struct overtake_device *device = context->client->device;
	LIST_HEAD(forgotten);
	u64 tag = 0;
	bool more;

	do {
		overtake_lock(device);
		more = overtake_jobs_cancel_some_locked(context, &tag,
							device->gone ? -ENODEV : -ECANCELED, true);
		overtake_unlock(device);
	} while (more);
	do {
		overtake_lock(device);
		more = overtake_jobs_forget_some_locked(context, &forgotten);
		overtake_unlock(device);
		overtake_jobs_put_forgotten(&forgotten);
	} while (more);
}

/*
 * Stops FCs of a killed context through the registers of cores.  KILL_CONTEXT does the rest in its
 * turn.
 */
static void stop_execution_locked(struct overtake_device *device,
				  const struct overtake_context *context)
{
	u32 core;

	lockdep_assert_held(&device->lock);
	for (core = 1; core <= device->settings.cores; core++) {
		const struct ovt_fw_part *running = device->fw_cores[core - 1].running;

		if (running && running->job->context == &context->fw &&
		    ovt_fw_runnable(&device->fw, core))
			ovt_core_write(&device->hw[core - 1], OVT_REG_CONTROL, OVT_CONTROL_KILL);
	}
}

/*
 * overtake_context_kill - let no job of @context start any more
 *
 * Its jobs end with -ECANCELED (-ENODEV if the device is going away).  A job that runs is stopped
 * at the core's next step.  Jobs that have ended and were not collected are forgotten.  May be
 * called any number of times; process context.
 */
void overtake_context_kill(struct overtake_context *context)
{
	struct overtake_device *device = context->client->device;
	bool was_dead;

	overtake_lock(device);
	was_dead = context->dead;
	if (!was_dead) {
		context->dead = true;
		rb_erase_cached(&context->node, &device->contexts);
		list_del_init(&context->limiting_link);
		stop_execution_locked(device, context);
		if (context->tasks)
			overtake_service_abandon_locked(context, overtake_clock_now(device));
		ovt_fw_kill_context(&device->fw, &context->fw, overtake_clock_now(device));
		overtake_core_limits_update_locked(device, overtake_context_slots(context) - 1,
						   context->client->tgid);
	}
	overtake_unlock(device);
	if (!was_dead) {
		end_jobs(context);
		overtake_recordings_forget(context);
		wake_up_all(&context->wait);
	}
	overtake_host_kick(device);
}

/* Kills all contexts of a device that is going away. */
void overtake_contexts_kill_all(struct overtake_device *device)
{
	struct overtake_context *context;
	struct rb_node *first;

	for (;;) {
		overtake_lock(device);
		first = rb_first_cached(&device->contexts);
		context = first ? rb_entry(first, struct overtake_context, node) : NULL;
		if (context)
			kref_get(&context->ref);
		overtake_unlock(device);
		if (!context)
			break;
		overtake_context_kill(context);
		overtake_context_put(context);
	}
	overtake_service_finish_abandoning_later(device);
}

/* Ends the tasks of a killed @context.  May sleep. */
static void context_end_tasks(struct overtake_context *context)
{
	if (context->tasks)
		overtake_service_finish_abandoning(context);
}

/* Gives @context an id of its client, *@id, and starts it. */
static int context_add(struct overtake_context *context, u32 *id)
{
	struct overtake_client *client = context->client;
	int ret;

	guard(mutex)(&client->lock);
	ret = xa_alloc(&client->contexts, &context->id, NULL,
		       XA_LIMIT(1, OVERTAKE_MAX_CONTEXTS), GFP_KERNEL_ACCOUNT);
	if (ret == -EBUSY)
		return overtake_refuse(client, OVERTAKE_LIMIT_CONTEXTS, -ENOSPC);
	if (ret)
		return ret;
	/* Once the lock is released, another thread that guesses the id may free the context. */
	*id = context->id;
	ret = context_start(context);
	if (ret)
		xa_erase(&client->contexts, context->id);
	else
		xa_store(&client->contexts, context->id, context, GFP_KERNEL_ACCOUNT);
	return ret;
}

int overtake_context_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct overtake_client *client = file->driver_priv;
	struct drm_overtake_context_create *args = data;
	struct overtake_context *context;
	int ret;

	if (args->flags > OVERTAKE_MAX_WORKERS || args->context_id)
		return -EINVAL;
	ret = overtake_judge(client, ovt_check_queue(args->max_priority, args->core_limit));
	if (ret)
		return ret;
	/* Tasks of all processes share the cores, and a task's times must hold on each of them. */
	if (args->flags && !client->device->settings.like_cores) {
		drm_dbg(drm, "CONTEXT_CREATE: no queue of tasks where cores are unlike\n");
		return -EOPNOTSUPP;
	}
	/* The file has the right from here on: submissions do not check the capability. */
	if (args->max_priority == OVERTAKE_PRIORITY_HIGH && !capable(CAP_SYS_NICE))
		return -EPERM;
	context = context_alloc(client, args);
	if (!context)
		return -ENOMEM;
	ret = context_add(context, &args->context_id);
	if (ret)
		overtake_context_put(context);
	return ret;
}

static bool context_is_over(struct overtake_context *context)
{
	struct overtake_device *device = context->client->device;
	bool over;

	overtake_lock(device);
	over = context->killed && !context->undelivered &&
	       !(context->tasks && context->tasks->is_open);
	overtake_unlock(device);
	return over;
}

/*
 * Waits until no job of a killed @context is left; -ERESTARTSYS on a signal, -ENOSPC where too many
 * threads wait already.
 */
static int context_drain(struct overtake_context *context)
{
	int ret = overtake_context_add_sleeper(context, &context->drainers);

	if (ret)
		return ret;
	overtake_host_kick(context->client->device);
	ret = wait_event_interruptible(context->wait, context_is_over(context));
	atomic_dec(&context->drainers);
	return ret;
}

/* The id stays valid until nothing is left, so an interrupted call can be made again. */
int overtake_context_destroy_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct overtake_client *client = file->driver_priv;
	struct drm_overtake_context_destroy *args = data;
	struct overtake_context *context;
	int ret;

	if (args->pad)
		return -EINVAL;
	context = overtake_context_find(client, args->context_id);
	if (!context)
		return -ENOENT;
	overtake_context_kill(context);
	context_end_tasks(context);
	ret = context_drain(context);
	if (!ret) {
		mutex_lock(&client->lock);
		if (xa_cmpxchg(&client->contexts, context->id, context, NULL, 0) == context)
			overtake_context_put(context);
		else
			ret = -ENOENT; /* another thread was faster */
		mutex_unlock(&client->lock);
	}
	overtake_context_put(context);
	return ret;
}

void overtake_client_close(struct drm_device *drm, struct drm_file *file)
{
	struct overtake_device *device = to_overtake_device(drm);
	struct overtake_client *client = file->driver_priv;
	struct overtake_context *context;
	unsigned long id;

	/* All contexts are killed first: no task goes on while those of other contexts end. */
	xa_for_each(&client->contexts, id, context)
		overtake_context_kill(context);
	xa_for_each(&client->contexts, id, context) {
		context_end_tasks(context);
		xa_erase(&client->contexts, id);
		overtake_context_put(context);
	}
	overtake_deliver_stop_polls(client);
	overtake_client_unmap_all(client);
	file->driver_priv = NULL;

	overtake_lock(device);
	device->files--;
	overtake_unlock(device);
	overtake_host_kick(device);
	overtake_client_put(client);
}

/*
 * The file is readable while WAIT can collect a job, or TASK_EVENTS can fetch an event, of any of
 * its contexts.  A device that has gone is an error and a hang-up as well.
 */
__poll_t overtake_poll(struct file *filp, struct poll_table_struct *table)
{
	struct drm_file *file = filp->private_data;
	struct overtake_client *client = file->driver_priv;
	struct overtake_device *device = client->device;
	__poll_t events = 0;

	overtake_deliver_poll_wait(client, filp, table);
	overtake_lock(device);
	if (client->ended_count || client->news_count)
		events |= EPOLLIN | EPOLLRDNORM;
	if (device->gone)
		events |= EPOLLERR | EPOLLHUP;
	overtake_unlock(device);
	return events;
}

/* Shows the tasks of service mode of all contexts of the file. */
static void show_tasks(struct drm_printer *printer, struct overtake_client *client)
{
	struct ovt_service_counts sum = { 0 };
	struct overtake_device *device = client->device;
	u64 ended = 0, waited_ns = 0, overdue = 0;
	struct overtake_context *context;
	unsigned long id;

	mutex_lock(&client->lock);
	xa_for_each(&client->contexts, id, context) {
		struct ovt_service_process *process;
		struct ovt_service_counts counts;

		if (!context->tasks)
			continue;
		process = &context->tasks->process;
		overtake_lock(device);
		counts = ovt_service_count(process);
		ended += process->ended;
		waited_ns += process->waited_ns;
		overdue += process->overdue;
		overtake_unlock(device);
		sum.waiting += counts.waiting;
		sum.ready += counts.ready;
		sum.dispatched += counts.dispatched;
		sum.overdue += counts.overdue;
		sum.slots += counts.slots;
		sum.uncollected += counts.uncollected;
	}
	mutex_unlock(&client->lock);
	drm_printf(printer, "overtake-tasks-waiting:\t%u\n", sum.waiting);
	drm_printf(printer, "overtake-tasks-ready:\t%u\n", sum.ready);
	drm_printf(printer, "overtake-tasks-dispatched:\t%u\n", sum.dispatched);
	drm_printf(printer, "overtake-tasks-overdue:\t%u\n", sum.overdue);
	drm_printf(printer, "overtake-tasks-uncollected:\t%u\n", sum.uncollected);
	drm_printf(printer, "overtake-slots:\t%u\n", sum.slots);
	drm_printf(printer, "overtake-tasks-ended:\t%llu\n", ended);
	drm_printf(printer, "overtake-tasks-waited:\t%llu ns\n", waited_ns);
	drm_printf(printer, "overtake-segments-overdue:\t%llu\n", overdue);
}

/* Key names are interface: Documentation/gpu/drm-usage-stats.rst. */
void overtake_client_fdinfo(struct drm_printer *printer, struct drm_file *file)
{
	static const char * const rings[OVT_RING_COUNT] = { "high", "normal" };
	struct overtake_client *client = file->driver_priv;
	struct overtake_device *device = client->device;
	u32 core, ring;
	u64 busy_ns;

	for (core = 0; core < device->settings.cores; core++) {
		for (ring = 0; ring < OVT_RING_COUNT; ring++) {
			overtake_lock(device);
			busy_ns = client->usage[core].busy_ns[ring];
			overtake_unlock(device);
			drm_printf(printer, "drm-engine-core%u-%s:\t%llu ns\n", core + 1,
				   rings[ring], busy_ns);
		}
	}
	show_tasks(printer, client);
	drm_show_memory_stats(printer, file);
}
