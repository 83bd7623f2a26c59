// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fences in and out of a job.
 *
 * DOC: what a job waits for
 *
 * Explicitly, a job waits for the fences of syncobjs that its submitter names.  Implicitly, it
 * waits for fences of other devices in the reservation objects of its buffers: a job that reads
 * waits for writers, a job that writes waits for readers, too.  Only a shared buffer has such
 * fences.  A buffer may still be shared when its handle and GEM's record of its dma-buf are gone,
 * so each buffer is looked at.  Jobs of this device wait for each other only if their submitters
 * name the fences: the scheduler orders them.
 *
 * The job ends with the error of an explicit fence, but not with that of an implicit one: it would
 * be found only by chance, since a fence that was signalled before the submission is not looked at.
 *
 * No thread waits.  Each fence has a callback.  The callback of the last fence, or of one that
 * failed, only puts the job on a list: fences signal with interrupts off, and there may be
 * thousands of jobs behind one.  The host takes a bounded number at a time off the list, those of
 * priority 255 first, and the jobs arrive, or end.  Callbacks hold no reference to the job:
 * the delivery of its end, which always comes, removes them.
 *
 * DOC: why this cannot deadlock
 *
 * Others see a job's fence only when all fences that the job waits for are known, so fences form no
 * cycle.  From then on nothing fails and nothing is allocated: fences, chain nodes and reservation
 * slots exist already.  And each job is cancelled at its deadline, whatever it waits for.
 *
 * DOC: lock order
 *
 *	any fence->lock -> device->lock		(callback; so never a fence under device->lock)
 *	device->lock -> unblocked_lock
 *	dma_resv -> syncobj->lock		(attach)
 */
#include <linux/dma-fence.h>
#include <linux/dma-fence-chain.h>
#include <linux/dma-resv.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <drm/drm_gem.h>
#include <drm/drm_syncobj.h>

#include "overtake_clock.h"
#include "overtake_fence.h"
#include "overtake_job.h"
#include "overtake_job_memory.h"
#include "overtake_limits.h"
#include "overtake_lock.h"

struct overtake_in_fence {
	struct dma_fence *fence;
	struct dma_fence_cb callback;
	struct overtake_job *job;
	bool implicit;
	bool armed; /* had @callback at least once */
};

struct overtake_out_fence {
	struct drm_syncobj *syncobj;
	struct dma_fence_chain *chain; /* of a point of a timeline */
	u64 point;
};

/* Charges an array.  Arrays stay with an instance of a recording, and so does their charge. */
static int charge_array(struct overtake_job *job, u64 bytes)
{
	int ret = overtake_job_charge(job, bytes);

	if (!ret)
		job->syncs.charged_bytes += bytes;
	return ret;
}

static int grow_in(struct overtake_job *job)
{
	struct overtake_syncs *syncs = &job->syncs;
	u32 room = max(2 * syncs->in_room, 4u);
	struct overtake_in_fence *in;
	int ret;

	ret = charge_array(job, (room - syncs->in_room) * sizeof(*in));
	if (ret)
		return ret;
	in = krealloc_array(syncs->in, room, sizeof(*in), GFP_KERNEL_ACCOUNT);
	if (!in) {
		/* The charge ends with the job, like that of other memory. */
		syncs->charged_bytes -= (room - syncs->in_room) * sizeof(*in);
		return -ENOMEM;
	}
	syncs->in = in;
	syncs->in_room = room;
	return 0;
}

/* Takes over the reference to @fence when it succeeds. */
static int add_in_fence(struct overtake_job *job, struct dma_fence *fence, bool implicit)
{
	struct overtake_syncs *syncs = &job->syncs;
	int ret;

	if (syncs->in_count == syncs->in_room) {
		ret = grow_in(job);
		if (ret)
			return ret;
	}
	/* The entry may still move; overtake_syncs_arm() adds its callback, which may not. */
	syncs->in[syncs->in_count++] = (struct overtake_in_fence){
		.fence = fence,
		.job = job,
		.implicit = implicit,
	};
	return 0;
}

static int add_in_sync(struct overtake_job *job, struct drm_file *file,
		       const struct overtake_sync *sync)
{
	struct dma_fence *fence;
	int ret;

	ret = drm_syncobj_find_fence(file, sync->handle, sync->point, 0, &fence);
	if (ret)
		return ret;
	ret = add_in_fence(job, fence, false);
	if (ret)
		dma_fence_put(fence);
	return ret;
}

static int add_out_sync(struct overtake_job *job, struct drm_file *file,
			const struct overtake_sync *sync)
{
	struct overtake_out_fence *out = &job->syncs.out[job->syncs.out_count];

	*out = (struct overtake_out_fence){ .point = sync->point };
	out->syncobj = drm_syncobj_find(file, sync->handle);
	if (!out->syncobj)
		return -ENOENT;
	job->syncs.out_count++;
	if (!sync->point)
		return 0;
	out->chain = dma_fence_chain_alloc();
	return out->chain ? 0 : -ENOMEM;
}

/* Allocates room for @count syncobjs, and the fence that they get. */
static int prepare_out(struct overtake_job *job, u32 count)
{
	struct overtake_syncs *syncs = &job->syncs;
	int ret = overtake_job_charge(job, sizeof(struct overtake_fence) +
					   count * sizeof(struct dma_fence_chain));

	if (ret)
		return ret;
	job->fence = overtake_fence_create(overtake_job_device(job));
	if (!job->fence)
		return -ENOMEM;
	if (count <= syncs->out_room)
		return 0;
	ret = charge_array(job, (count - syncs->out_room) * sizeof(*syncs->out));
	if (ret)
		return ret;
	kfree(syncs->out);
	syncs->out = kcalloc(count, sizeof(*syncs->out), GFP_KERNEL_ACCOUNT);
	if (!syncs->out) {
		syncs->charged_bytes -= count * sizeof(*syncs->out);
		syncs->out_room = 0;
		return -ENOMEM;
	}
	syncs->out_room = count;
	return 0;
}

typedef int (*add_sync_fn)(struct overtake_job *job, struct drm_file *file,
			   const struct overtake_sync *sync);

/* Calls @add for each of the client's @count syncs at @user. */
static int add_syncs(struct overtake_job *job, struct drm_file *file, u64 user, u32 count,
		     add_sync_fn add)
{
	const struct overtake_sync __user *from = u64_to_user_ptr(user);
	struct overtake_sync sync;
	u32 i;
	int ret;

	for (i = 0; i < count; i++) {
		if (copy_from_user(&sync, &from[i], sizeof(sync)))
			return -EFAULT;
		if (sync.flags)
			return -EINVAL;
		ret = add(job, file, &sync);
		if (ret)
			return ret;
	}
	return 0;
}

/*
 * overtake_syncs_parse - look up the fences that a client names
 *
 * Fences that were found stay with the job, also after an error; freeing the job releases them.
 * May sleep.
 */
int overtake_syncs_parse(struct overtake_job *job, struct drm_file *file,
			 const struct overtake_extension_sync *sync)
{
	int ret;

	if (sync->in_count > OVERTAKE_MAX_SYNCS || sync->out_count > OVERTAKE_MAX_SYNCS)
		return overtake_refuse(job->context->client, OVERTAKE_LIMIT_SYNCS, -E2BIG);
	if (sync->out_count) {
		ret = prepare_out(job, sync->out_count);
		if (ret)
			return ret;
	}
	ret = add_syncs(job, file, sync->in, sync->in_count, add_in_sync);
	if (!ret)
		ret = add_syncs(job, file, sync->out, sync->out_count, add_out_sync);
	return ret;
}

static int add_foreign_fences(struct overtake_job *job, struct drm_gem_object *object, bool write)
{
	struct dma_resv_iter cursor;
	struct dma_fence *fence;
	int ret;

	dma_resv_for_each_fence(&cursor, object->resv, dma_resv_usage_rw(write), fence) {
		if (overtake_fence_is_of(fence, overtake_job_device(job)) ||
		    dma_fence_is_signaled(fence))
			continue;
		ret = add_in_fence(job, dma_fence_get(fence), true);
		if (ret) {
			dma_fence_put(fence);
			return ret;
		}
	}
	return 0;
}

/* Adds the implicit fences of the job's buffers, whose reservation objects are locked. */
int overtake_syncs_add_implicit(struct overtake_job *job)
{
	u32 i;
	int ret;

	for (i = 0; i < job->object_count; i++) {
		ret = add_foreign_fences(job, job->objects[i], job->object_written[i]);
		if (ret)
			return ret;
	}
	return 0;
}

/* Whether the job waits for a fence, or has a fence for syncobjs. */
bool overtake_syncs_any(const struct overtake_job *job)
{
	return job->syncs.in_count || job->syncs.out_count;
}

/* The syncobjs get the job's fence.  Nothing can fail any more. */
void overtake_syncs_attach(struct overtake_job *job)
{
	u32 i;

	for (i = 0; i < job->syncs.out_count; i++) {
		struct overtake_out_fence *out = &job->syncs.out[i];

		if (out->point) {
			drm_syncobj_add_point(out->syncobj, out->chain, job->fence, out->point);
			out->chain = NULL;
		} else {
			drm_syncobj_replace_fence(out->syncobj, job->fence);
		}
	}
}

/* Returns the error of a signalled fence for the job; the lock of a fence inside it may be held. */
static int fence_error(const struct overtake_in_fence *in)
{
	return in->implicit ? 0 : dma_fence_chain_contained(in->fence)->error;
}

/* Puts the job on its list, once; the first job on the list kicks the host.  Any context. */
static void list_unblocked(struct overtake_job *job)
{
	u32 ring = job->fw.priority == OVT_PRIORITY_HIGH ? OVT_RING_HIGH : OVT_RING_NORMAL;
	struct overtake_device *device = overtake_job_device(job);
	unsigned long flags;
	bool first = false;

	spin_lock_irqsave(&device->unblocked_lock, flags);
	if (!job->syncs.listed) {
		job->syncs.listed = true;
		first = list_empty(&device->unblocked[ring]);
		overtake_job_get(job);
		list_add_tail(&job->syncs.link, &device->unblocked[ring]);
	}
	spin_unlock_irqrestore(&device->unblocked_lock, flags);
	if (!first)
		return;
	flags = overtake_lock_irqsave(device);
	overtake_clock_kick_soon_locked(device);
	overtake_unlock_irqrestore(device, flags);
}

/* A fence of @job was signalled, with @error or 0.  Any context, under a fence's lock. */
static void note_signal(struct overtake_job *job, int error)
{
	if (error)
		cmpxchg(&job->syncs.error, 0, error);
	if (atomic_dec_and_test(&job->syncs.pending) || error)
		list_unblocked(job);
}

static void in_fence_signalled(struct dma_fence *fence, struct dma_fence_cb *callback)
{
	struct overtake_in_fence *in = container_of(callback, struct overtake_in_fence, callback);

	note_signal(in->job, fence_error(in));
}

void overtake_unblocked_init(struct overtake_device *device)
{
	spin_lock_init(&device->unblocked_lock);
	INIT_LIST_HEAD(&device->unblocked[OVT_RING_HIGH]);
	INIT_LIST_HEAD(&device->unblocked[OVT_RING_NORMAL]);
}

/* Takes the next job whose fences were signalled or failed, with the list's reference; or NULL. */
struct overtake_job *overtake_unblocked_take_locked(struct overtake_device *device)
{
	struct overtake_job *job = NULL;
	u32 ring;

	lockdep_assert_held(&device->lock);
	spin_lock(&device->unblocked_lock);
	for (ring = 0; ring < OVT_RING_COUNT && !job; ring++)
		job = list_first_entry_or_null(&device->unblocked[ring], struct overtake_job,
					       syncs.link);
	if (job)
		list_del_init(&job->syncs.link);
	spin_unlock(&device->unblocked_lock);
	return job;
}

/* Whether the list has a job.  Only a hint: by itself it orders no memory access. */
bool overtake_unblocked_any(struct overtake_device *device)
{
	return !list_empty_careful(&device->unblocked[OVT_RING_HIGH]) ||
	       !list_empty_careful(&device->unblocked[OVT_RING_NORMAL]);
}

/*
 * overtake_syncs_arm - let the fences that the job waits for unblock it
 *
 * The submitter has not finished, so the job has not ended when this returns.  No lock is held.
 */
void overtake_syncs_arm(struct overtake_job *job)
{
	u32 i;

	atomic_add(job->syncs.in_count, &job->syncs.pending);
	for (i = 0; i < job->syncs.in_count; i++) {
		struct overtake_in_fence *in = &job->syncs.in[i];

		in->armed = !dma_fence_add_callback(in->fence, &in->callback, in_fence_signalled);
		if (!in->armed)
			note_signal(job, fence_error(in));
	}
}

/*
 * Removes the callbacks: when this returns, no callback runs or will run.  May be called any number
 * of times; no lock is held.
 *
 * It may run in the timer's interrupt.  It does not touch a fence that was signalled when it was to
 * be armed, such as that of dma_fence_get_stub(), whose lock Linux takes with interrupts on.
 */
void overtake_syncs_disarm(struct overtake_job *job)
{
	struct overtake_in_fence *in;

	for (in = job->syncs.in; in < job->syncs.in + job->syncs.in_count; in++)
		if (in->armed)
			dma_fence_remove_callback(in->fence, &in->callback);
}

/* Releases all fences and syncobjs of the job; the arrays stay. */
void overtake_syncs_clear(struct overtake_job *job)
{
	u32 i;

	for (i = 0; i < job->syncs.in_count; i++)
		dma_fence_put(job->syncs.in[i].fence);
	for (i = 0; i < job->syncs.out_count; i++) {
		dma_fence_chain_free(job->syncs.out[i].chain);
		drm_syncobj_put(job->syncs.out[i].syncobj);
	}
	job->syncs.in_count = 0;
	job->syncs.out_count = 0;
	job->syncs.error = 0;
	job->syncs.listed = false;
}

void overtake_syncs_free(struct overtake_job *job)
{
	kfree(job->syncs.in);
	kfree(job->syncs.out);
}
