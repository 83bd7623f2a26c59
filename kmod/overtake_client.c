// SPDX-License-Identifier: GPL-2.0-only
/*
 * Clients (open files) and contexts (their queues) as objects: references, charges, look-up,
 * sleepers, freeing.  Their life is in overtake_ctx.c.
 */
#include <linux/sched.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>

#include "overtake_client.h"
#include "overtake_counters.h"
#include "overtake_limits.h"
#include "overtake_service.h"
#include "overtake_user.h"
#include "overtake_workqueues.h"

void overtake_client_get(struct overtake_client *client)
{
	kref_get(&client->ref);
}

static void client_release(struct kref *ref)
{
	struct overtake_client *client = container_of(ref, struct overtake_client, ref);
	struct overtake_device *device = client->device;

	WARN_ON(!mtree_empty(&client->space));
	WARN_ON(atomic64_read(&client->bytes) || atomic_read(&client->buffers));
	mtree_destroy(&client->space);
	xa_destroy(&client->mapped);
	xa_destroy(&client->contexts);
	mutex_destroy(&client->lock);
	overtake_user_put(client->user);
	kfree(client);
	drm_dev_put(&device->drm);
}

/* May sleep. */
void overtake_client_put(struct overtake_client *client)
{
	kref_put(&client->ref, client_release);
}

/* Any context, without the device lock. */
void overtake_client_uncharge(struct overtake_client *client, u64 bytes)
{
	u64 after = atomic64_sub_return(bytes, &client->bytes);

	overtake_coarse_charge(client, after + bytes, after);
}

/* Any context, without the device lock. */
int overtake_client_charge(struct overtake_client *client, u64 bytes)
{
	u64 after = atomic64_add_return(bytes, &client->bytes);

	overtake_coarse_charge(client, after - bytes, after);
	if (after <= OVERTAKE_MAX_CLIENT_BYTES)
		return 0;
	overtake_client_uncharge(client, bytes);
	return overtake_refuse(client, OVERTAKE_LIMIT_CLIENT_BYTES, -ENOSPC);
}

/* Charges @client with one more buffer; undone by overtake_client_uncharge_buffer(). */
int overtake_client_charge_buffer(struct overtake_client *client, u64 size)
{
	int ret;

	if (atomic_inc_return(&client->buffers) > OVERTAKE_MAX_BUFFERS) {
		atomic_dec(&client->buffers);
		return overtake_refuse(client, OVERTAKE_LIMIT_BUFFERS, -ENOSPC);
	}
	ret = overtake_client_charge(client, size);
	if (ret)
		atomic_dec(&client->buffers);
	return ret;
}

void overtake_client_uncharge_buffer(struct overtake_client *client, u64 size)
{
	overtake_client_uncharge(client, size);
	atomic_dec(&client->buffers);
}

static void context_free_work(struct work_struct *work)
{
	struct overtake_context *context = container_of(work, struct overtake_context, free_work);
	struct overtake_client *client = context->client;

	WARN_ON(context->job_count || !RB_EMPTY_ROOT(&context->jobs));
	WARN_ON(context->tasks && context->tasks->is_open);
	WARN_ON(!xa_empty(&context->recordings));
	xa_destroy(&context->recordings);
	kvfree(context->tasks);
	kfree_rcu(context, rcu);
	overtake_client_put(client);
}

static void context_release(struct kref *ref)
{
	struct overtake_context *context = container_of(ref, struct overtake_context, ref);

	INIT_WORK(&context->free_work, context_free_work);
	queue_work(overtake_free_workqueue, &context->free_work);
}

void overtake_context_get(struct overtake_context *context)
{
	kref_get(&context->ref);
}

/* Any context, under the device lock too. */
void overtake_context_put(struct overtake_context *context)
{
	kref_put(&context->ref, context_release);
}

/*
 * Returns a context with a reference for the caller, or NULL.  A dead context is still found.
 *
 * Takes no lock of the client: thousands of its threads may call this at the same time, and none of
 * them may sleep where no signal reaches it.
 */
struct overtake_context *overtake_context_find(struct overtake_client *client, u32 id)
{
	struct overtake_context *context;

	rcu_read_lock();
	context = xa_load(&client->contexts, id);
	if (context && !kref_get_unless_zero(&context->ref))
		context = NULL;
	rcu_read_unlock();
	return context;
}

/* Counts the calling thread, which is about to sleep, in @sleepers.  Returns 0 or -ENOSPC. */
int overtake_context_add_sleeper(struct overtake_context *context, atomic_t *sleepers)
{
	if (atomic_inc_return(sleepers) <= OVERTAKE_MAX_WAITERS)
		return 0;
	atomic_dec(sleepers);
	return overtake_refuse(context->client, OVERTAKE_LIMIT_WAITERS, -ENOSPC);
}

/*
 * overtake_context_add_waiter - the calling thread is about to sleep in @context's wait queue
 *
 * Returns 0; or -ENOSPC, so that a wake-up, which walks the queue with interrupts off, is short.
 * The thread counts until overtake_context_remove_waiter().
 */
int overtake_context_add_waiter(struct overtake_context *context)
{
	return overtake_context_add_sleeper(context, &context->waiters);
}

void overtake_context_remove_waiter(struct overtake_context *context)
{
	atomic_dec(&context->waiters);
}

/* Returns the number of command slots that a context holds as long as it lives. */
u32 overtake_context_slots(const struct overtake_context *context)
{
	u32 cores = context->client->device->settings.cores;

	/* KILL_CONTEXT, and LIMIT of each core when the context's request for a limit ends. */
	return 1 + (context->core_limit ? cores : 0);
}
