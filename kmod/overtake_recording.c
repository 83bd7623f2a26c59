// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recordings: jobs that are checked and copied once, and submitted again and again.
 *
 * DOC: what is kept
 *
 * A recording has a pattern, a job that is never run, with the copy of the FCs, the stages of a
 * group, and the mappings that are the same in each replay.  Each instance is a job with a scratch
 * region of its own, and with the pattern's FCs.  REPLAY takes an idle instance and fills in the
 * data of this replay (overtake_job_fill_replay()); from then on it is a job like any other
 * (overtake_job.c).  When its last reference is dropped it is not freed: it releases the data of
 * the replay, and is idle.
 *
 * DOC: whose scratch it is
 *
 * The scratch of an instance is zeroed when it is allocated, and freed with the recording.  A
 * recording belongs to one context, which belongs to one file.  So a job finds in its scratch only
 * zeros and data of earlier jobs of the same recording, and no other job has a pointer to it.
 *
 * DOC: when an instance is idle again
 *
 * A client that knows of the end of a job may replay at once, with all other instances in flight.
 * The threads that delivered the job may still have the last references to it.  So REPLAY waits for
 * an instance whose end was reported; EBUSY if there is none.  It does not wait for an action of
 * the client: a job that is not collected counts as in flight.
 */
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <linux/xarray.h>

#include "overtake_client.h"
#include "overtake_drv.h"
#include "overtake_gem.h"
#include "overtake_group.h"
#include "overtake_job.h"
#include "overtake_job_memory.h"
#include "overtake_limits.h"
#include "overtake_recording.h"
#include "host/record_rules.h"

/* Greatest wait for the driver's threads to return an instance; longer, and something is wrong. */
#define RETURN_TIMEOUT	HZ

static void instance_free(struct overtake_job *job)
{
	overtake_client_uncharge(job->context->client, job->charged_bytes);
	overtake_syncs_free(job);
	overtake_group_free(job->group);
	vfree(job->scratch);
	kfree(job);
}

/* Frees a recording, also one that was not created completely. */
static void recording_release(struct kref *ref)
{
	struct overtake_recording *recording = container_of(ref, struct overtake_recording, ref);
	u32 i;

	for (i = 0; i < recording->instance_count; i++)
		instance_free(recording->instances[i]);
	overtake_job_free(recording->pattern);
	kfree_rcu(recording, rcu);
}

/* May sleep. */
static void recording_put(struct overtake_recording *recording)
{
	kref_put(&recording->ref, recording_release);
}

static struct overtake_recording *recording_find(struct overtake_context *context, u32 id)
{
	struct overtake_recording *recording;

	rcu_read_lock();
	recording = xa_load(&context->recordings, id);
	if (recording && !kref_get_unless_zero(&recording->ref))
		recording = NULL;
	rcu_read_unlock();
	return recording;
}

/* Returns the bytes of an instance, without those charged only while it is in flight. */
static u64 instance_bytes(const struct overtake_recording *recording)
{
	const struct overtake_group *group = recording->pattern->group;
	u64 bytes = sizeof(struct overtake_job) + PAGE_ALIGN((u64)recording->scratch_bytes);

	return group ? bytes + struct_size(group, parts, group->fw.part_count) : bytes;
}

static int add_instance(struct overtake_recording *recording)
{
	struct overtake_job *pattern = recording->pattern;
	struct overtake_job *job;

	/* The scratch regions of all instances are zeroed here, and they may be large. */
	if (fatal_signal_pending(current))
		return -EINTR;
	cond_resched();
	job = kzalloc(sizeof(*job), GFP_KERNEL_ACCOUNT);
	if (!job)
		return -ENOMEM;
	job->context = pattern->context;
	recording->instances[recording->instance_count++] = job;
	list_add_tail(&job->batch_link, &recording->idle);
	if (pattern->group) {
		job->group = overtake_group_clone(pattern->group);
		if (!job->group)
			return -ENOMEM;
	}
	return overtake_job_add_scratch(job, recording->scratch_bytes);
}

/* Creates a recording of @context, whose reference it takes over, also when it fails. */
static struct overtake_recording *recording_create(struct overtake_context *context,
						   struct drm_file *file,
						   const struct drm_overtake_record *args)
{
	struct drm_overtake_submit submit = ovt_submit_of_record(args);
	struct overtake_recording *recording;
	u64 bytes;
	int ret;

	recording = kzalloc(struct_size(recording, instances, args->instances),
			    GFP_KERNEL_ACCOUNT);
	if (!recording) {
		overtake_context_put(context);
		return ERR_PTR(-ENOMEM);
	}
	recording->pattern = overtake_job_alloc(context, &submit);
	if (!recording->pattern) {
		kfree(recording);
		overtake_context_put(context);
		return ERR_PTR(-ENOMEM);
	}
	kref_init(&recording->ref);
	spin_lock_init(&recording->lock);
	INIT_LIST_HEAD(&recording->idle);
	init_waitqueue_head(&recording->returned);
	recording->scratch_bytes = args->scratch_bytes;
	ret = overtake_job_fill_recording(recording->pattern, file, &submit, &recording->bound);
	if (!ret) {
		bytes = struct_size(recording, instances, args->instances) +
			args->instances * instance_bytes(recording);
		ret = overtake_job_charge(recording->pattern, bytes);
	}
	while (!ret && recording->instance_count < args->instances)
		ret = add_instance(recording);
	if (!ret)
		return recording;
	recording_put(recording);
	return ERR_PTR(ret);
}

/*
 * Gives @recording an id, *@id, which takes over the reference.  After that, another thread that
 * guesses the id may forget and free the recording.
 */
static int recording_publish(struct overtake_context *context,
			     struct overtake_recording *recording, u32 *id)
{
	int ret = xa_alloc(&context->recordings, id, recording,
			   XA_LIMIT(1, OVERTAKE_MAX_RECORDINGS), GFP_KERNEL_ACCOUNT);

	if (ret == -EBUSY)
		return overtake_refuse(context->client, OVERTAKE_LIMIT_RECORDINGS, -ENOSPC);
	if (ret)
		return ret;
	atomic_inc(&context->recording_count);
	smp_mb__after_atomic(); /* with overtake_recordings_forget() */
	return 0;
}

/* Forgets the recording with @id.  Returns false if another thread was faster. */
static bool recording_forget(struct overtake_context *context, u32 id)
{
	struct overtake_recording *recording = xa_erase(&context->recordings, id);

	if (!recording)
		return false;
	atomic_dec(&context->recording_count);
	recording_put(recording);
	return true;
}

/* Forgets the recordings of a dead context: each is freed once its last job is.  May sleep. */
void overtake_recordings_forget(struct overtake_context *context)
{
	struct overtake_recording *recording;
	unsigned long id;

	smp_mb(); /* the context is dead; with recording_publish() */
	xa_for_each(&context->recordings, id, recording) {
		recording_forget(context, id);
		cond_resched();
	}
}

int overtake_record_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct overtake_client *client = file->driver_priv;
	struct drm_overtake_record *args = data;
	struct overtake_recording *recording;
	struct overtake_context *context;
	u32 id;
	int ret;

	ret = overtake_judge(client, ovt_check_record(args, client->device->settings.cores));
	if (ret)
		return ret;
	context = overtake_context_find(client, args->context_id);
	if (!context)
		return -ENOENT;
	if (context->tasks) {
		overtake_context_put(context);
		return -EINVAL;
	}
	overtake_context_get(context); /* the recording's */
	recording = recording_create(context, file, args);
	if (IS_ERR(recording)) {
		ret = PTR_ERR(recording);
	} else {
		ret = recording_publish(context, recording, &id);
		if (ret)
			recording_put(recording);
		else if (READ_ONCE(context->dead) && recording_forget(context, id))
			ret = -ENOENT; /* its other recordings were forgotten when it died */
		else
			args->record_id = id;
	}
	overtake_context_put(context);
	return ret;
}

int overtake_forget_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	const struct drm_overtake_forget *args = data;
	struct overtake_context *context;
	bool forgotten;

	context = overtake_context_find(file->driver_priv, args->context_id);
	if (!context)
		return -ENOENT;
	forgotten = recording_forget(context, args->record_id);
	overtake_context_put(context);
	return forgotten ? 0 : -ENOENT;
}

static struct overtake_job *take_idle(struct overtake_recording *recording)
{
	struct overtake_job *job;

	spin_lock(&recording->lock);
	job = list_first_entry_or_null(&recording->idle, struct overtake_job, batch_link);
	if (job)
		list_del_init(&job->batch_link);
	spin_unlock(&recording->lock);
	return job;
}

/* Returns true if *@job is an idle instance, or is NULL and no instance is about to be idle. */
static bool try_take(struct overtake_recording *recording, struct overtake_job **job)
{
	bool some_are_ending = atomic_read_acquire(&recording->ending);

	*job = take_idle(recording);
	return *job || !some_are_ending;
}

/* Takes an instance; -EBUSY: all are in flight; -ENOSPC: too many threads wait.  May sleep. */
static struct overtake_job *take_instance(struct overtake_recording *recording)
{
	struct overtake_context *context = recording->pattern->context;
	struct overtake_job *job;
	int ret;

	if (!try_take(recording, &job)) {
		ret = overtake_context_add_sleeper(context, &context->replayers);
		if (ret)
			return ERR_PTR(ret);
		wait_event_killable_timeout(recording->returned, try_take(recording, &job),
					    RETURN_TIMEOUT);
		atomic_dec(&context->replayers);
	}
	return job ? job : ERR_PTR(-EBUSY);
}

/* Notes that the end of @job is being reported: an instance will soon be idle.  Any context. */
void overtake_recording_note_end(struct overtake_job *job)
{
	if (!job->recording)
		return;
	job->is_ending = true;
	atomic_inc(&job->recording->ending);
}

/* Takes back @job, an instance whose last reference was dropped.  May sleep. */
static void take_back(struct overtake_job *job)
{
	struct overtake_recording *recording = job->recording;
	bool was_ending = job->is_ending;

	overtake_job_let_go(job, recording->pattern->mapping_count);
	/* The arrays of its syncs stay. */
	overtake_client_uncharge(job->context->client,
				 job->charged_bytes - job->syncs.charged_bytes);
	job->charged_bytes = job->syncs.charged_bytes;
	job->recording = NULL;
	spin_lock(&recording->lock);
	list_add(&job->batch_link, &recording->idle);
	spin_unlock(&recording->lock);
	if (was_ending)
		atomic_dec_return_release(&recording->ending); /* with try_take() */
	if (wq_has_sleeper(&recording->returned))
		wake_up_all(&recording->returned);
	recording_put(recording);
}

/* Makes an idle @job as it was recorded, with the fields of @args. */
static void instance_reset(struct overtake_job *job, const struct overtake_recording *recording,
			   const struct drm_overtake_submit *args)
{
	const struct overtake_job *pattern = recording->pattern;
	struct ovt_region *region = &job->fw.regions[OVERTAKE_REGION_SCRATCH];

	job->fw = pattern->fw;
	overtake_job_init(job, pattern->context, args);
	if (job->scratch)
		*region = (struct ovt_region){
			.base = job->scratch,
			.length = recording->scratch_bytes,
			.flags = OVT_REGION_READ | OVT_REGION_WRITE,
		};
	if (job->group)
		overtake_group_reset(job, pattern->group);
	job->model = pattern->model;
	job->in_slice = false;
	job->is_offence = false;
	job->state = OVERTAKE_JOB_NEW;
	job->cancel_requested = false;
	job->collectable = false;
	job->in_tree = false;
	job->is_ending = false;
	job->cancel_status = 0;
	job->result = (struct overtake_result){ 0 };
	job->command = NULL;
	job->open_cores = 0;
	job->core_answer = NULL;
	job->accessed = 0;
	job->mapping_count = pattern->mapping_count;
	job->object_count = pattern->object_count;
	memcpy(job->mappings, pattern->mappings, sizeof(job->mappings));
	memcpy(job->objects, pattern->objects, sizeof(job->objects));
	memcpy(job->object_written, pattern->object_written, sizeof(job->object_written));
}

static u32 parts_of(const struct overtake_job *job)
{
	return job->group ? job->group->fw.part_count : 0;
}

static struct overtake_job *replay(struct overtake_recording *recording, struct drm_file *file,
				   const struct drm_overtake_replay *args)
{
	struct drm_overtake_submit submit = ovt_submit_of_replay(args);
	struct overtake_job *job = take_instance(recording);
	int ret;

	if (IS_ERR(job))
		return job;
	instance_reset(job, recording, &submit);
	kref_get(&recording->ref); /* the instance's */
	job->recording = recording;
	job->take_back = take_back;
	ret = overtake_job_fill_replay(job, file, &submit, args->binding_count,
				       recording->bound);
	if (!ret)
		ret = overtake_judge(file->driver_priv,
				     ovt_check_replay_cores(args, parts_of(job), job->open_cores));
	if (!ret)
		return job;
	overtake_job_put_sleeping(job);
	return ERR_PTR(ret);
}

/*
 * overtake_recording_replay - create a job from a recording; only the caller knows it
 * @file: the file whose handles it names
 * @args: a copy that the client cannot change any more
 *
 * Returns the job with one reference, or an error and nothing has changed.  May sleep.
 */
struct overtake_job *overtake_recording_replay(struct drm_file *file,
					       const struct drm_overtake_replay *args)
{
	struct overtake_client *client = file->driver_priv;
	struct overtake_recording *recording;
	struct drm_overtake_submit submit;
	struct overtake_context *context;
	struct overtake_job *job;
	int ret;

	ret = overtake_judge(client, ovt_check_replay(args, client->device->settings.cores));
	if (ret)
		return ERR_PTR(ret);
	context = overtake_context_find(client, args->context_id);
	if (!context)
		return ERR_PTR(-ENOENT);
	submit = ovt_submit_of_replay(args);
	ret = overtake_judge(client, ovt_check_right(&submit, context->max_priority));
	recording = ret ? NULL : recording_find(context, args->record_id);
	overtake_context_put(context); /* the recording holds it */
	if (!recording)
		return ERR_PTR(ret ? ret : -ENOENT);
	job = replay(recording, file, args);
	recording_put(recording);
	return job;
}
