// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of jobs: created from a client's request, and freed with the last reference.
 *
 * firmware-sim/host/job_rules.h has the rules for jobs; this file copies a job and finds the memory
 * that it names.  The device does not know the job yet, so any step may fail, and all that was
 * taken is given back.  The life of a job is in overtake_job.c.
 */
#include <linux/dma-fence.h>
#include <linux/nospec.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include <drm/drm_gem.h>

#include "host/group_rules.h"
#include "overtake_client.h"
#include "overtake_extension.h"
#include "overtake_fence.h"
#include "overtake_free.h"
#include "overtake_gem.h"
#include "overtake_group.h"
#include "overtake_job.h"
#include "overtake_job_memory.h"
#include "overtake_limits.h"
#include "overtake_prime.h"

/*
 * Whether mapping @index of @job is of an import, and the first mapping of that import, which may
 * be bound to several regions.
 */
static bool is_first_of_import(const struct overtake_job *job, u32 index)
{
	const struct drm_gem_object *object = job->mappings[index]->object;
	u32 i;

	if (!object->import_attach)
		return false;
	for (i = 0; i < index; i++)
		if (job->mappings[i]->object == object)
			return false;
	return true;
}

/* Called by the submitter; no lock is held, and no thread waits for the job yet. */
static int begin_access(struct overtake_job *job)
{
	u32 i;
	int ret;

	BUILD_BUG_ON(ARRAY_SIZE(job->mappings) > BITS_PER_TYPE(job->accessed));
	for (i = 0; i < job->mapping_count; i++) {
		if (!is_first_of_import(job, i))
			continue;
		ret = overtake_import_begin_access(job->mappings[i]->object);
		if (ret)
			return ret;
		job->accessed |= BIT(i);
	}
	return 0;
}

/* Gives the job's imports back to other devices.  May sleep, take exporters' locks and allocate. */
void overtake_job_end_access(struct overtake_job *job)
{
	u32 i;

	for (i = 0; i < job->mapping_count; i++)
		if (job->accessed & BIT(i))
			overtake_import_end_access(job->mappings[i]->object);
	job->accessed = 0;
}

/*
 * overtake_job_let_go - release all objects that @job holds except the first @kept mappings
 *
 * Also for a job that was not created completely.  Its arrays of syncs stay.  May sleep.
 */
void overtake_job_let_go(struct overtake_job *job, u32 kept)
{
	u32 i;

	overtake_job_end_access(job);
	for (i = 0; i < job->object_count; i++)
		overtake_use_reset(&job->uses[i]);
	for (i = kept; i < job->mapping_count; i++)
		overtake_mapping_put(job->mappings[i]);
	overtake_syncs_clear(job);
	dma_fence_put(job->fence);
	job->fence = NULL;
}

/* Frees the job and all that it owns; it is not in flight. */
void overtake_job_free(struct overtake_job *job)
{
	struct overtake_context *context = job->context;

	if (job->recording) {
		job->take_back(job);
		return;
	}
	overtake_job_let_go(job, 0);
	overtake_syncs_free(job);
	vfree(job->scratch);
	kvfree(job->fcs);
	overtake_group_free(job->group);
	overtake_client_uncharge(context->client, job->charged_bytes);
	overtake_context_put(context);
	kfree(job);
}

static void job_free_garbage(struct overtake_garbage *garbage)
{
	overtake_job_free(container_of(garbage, struct overtake_job, garbage));
}

static void job_release(struct kref *ref)
{
	struct overtake_job *job = container_of(ref, struct overtake_job, ref);

	overtake_free_soon(job->context->client, &job->garbage, job_free_garbage);
}

/* Any context, also under the device lock. */
void overtake_job_put(struct overtake_job *job)
{
	kref_put(&job->ref, job_release);
}

static void job_release_now(struct kref *ref)
{
	overtake_job_free(container_of(ref, struct overtake_job, ref));
}

/* May sleep: if this drops the last reference, the job is freed when this returns. */
void overtake_job_put_sleeping(struct overtake_job *job)
{
	might_sleep();
	kref_put(&job->ref, job_release_now);
}

static int copy_fcs(struct overtake_job *job, const struct drm_overtake_submit *args)
{
	u64 bytes = (u64)args->fc_count * sizeof(*job->fcs);
	int ret;

	BUILD_BUG_ON(sizeof(struct ovt_fc) != sizeof(struct overtake_fc));
	ret = overtake_job_charge(job, bytes);
	if (ret)
		return ret;
	job->fcs = kvmalloc(bytes, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!job->fcs)
		return -ENOMEM;
	if (copy_from_user(job->fcs, u64_to_user_ptr(args->fcs), bytes))
		return -EFAULT;
	job->fw.fcs = job->fcs;
	job->fw.fc_count = args->fc_count;
	return overtake_judge(job->context->client,
			      ovt_check_fcs((const struct overtake_fc *)job->fcs, args->fc_count));
}

/*
 * Takes over the reference to @mapping.  @written: the job's fence excludes readers, too.
 *
 * Several objects may share one reservation object: imports of one buffer, or buffers of an
 * exporter that uses one for all of them.  It can be locked only once, so one object of @objects
 * represents all of them.
 */
static void add_mapping(struct overtake_job *job, struct overtake_mapping *mapping, bool written)
{
	u32 i;

	job->mappings[job->mapping_count++] = mapping;
	for (i = 0; i < job->object_count; i++)
		if (job->objects[i]->resv == mapping->object->resv)
			break;
	if (i == job->object_count)
		job->objects[job->object_count++] = mapping->object;
	job->object_written[i] |= written;
}

/*
 * Finds the mapping of a binding that the rules allow.  *@mapping has a reference, also if the
 * verdict refuses its access; it is NULL if there is no such mapping.
 */
static struct ovt_verdict find_memory(struct overtake_client *client,
				      const struct overtake_binding *binding, u32 index, u32 *bound,
				      struct overtake_mapping **mapping)
{
	struct ovt_verdict verdict = ovt_check_binding(binding, index, bound);

	*mapping = NULL;
	if (verdict.reason)
		return verdict;
	*mapping = overtake_mapping_find(client, binding->address, binding->length);
	return ovt_check_memory(binding, index, *mapping ? (*mapping)->flags : 0);
}

/* @bound: the regions that are bound, a bit for each. */
static int bind_region(struct overtake_job *job, const struct overtake_binding *binding, u32 index,
		       u32 *bound)
{
	struct overtake_client *client = job->context->client;
	bool write = binding->flags & OVERTAKE_MAP_WRITE;
	struct overtake_mapping *mapping;
	struct ovt_verdict verdict;
	struct ovt_region *region;

	verdict = find_memory(client, binding, index, bound, &mapping);
	if (verdict.reason) {
		if (mapping)
			overtake_mapping_put(mapping);
		return overtake_judge(client, verdict);
	}
	region = &job->fw.regions[array_index_nospec(binding->region, OVERTAKE_MAX_REGIONS)];
	region->base = mapping->base + (binding->address - mapping->address);
	region->length = binding->length;
	region->flags = OVT_REGION_READ | (write ? OVT_REGION_WRITE : 0);
	add_mapping(job, mapping, write);
	return 0;
}

/* @user: address of struct overtake_binding[@count]; @count is at most OVERTAKE_MAX_BINDINGS. */
static int bind_regions(struct overtake_job *job, u64 user, u32 count, u32 *bound)
{
	struct overtake_binding bindings[OVERTAKE_MAX_BINDINGS];
	u32 i;
	int ret;

	if (copy_from_user(bindings, u64_to_user_ptr(user), count * sizeof(bindings[0])))
		return -EFAULT;
	for (i = 0; i < count; i++) {
		ret = bind_region(job, &bindings[i], i, bound);
		if (ret)
			return ret;
	}
	return 0;
}

/* The job will write @bytes at @address, which is *@memory in the kernel.  Address 0: none. */
static int bind_record(struct overtake_job *job, u64 address, u64 bytes, void **memory)
{
	struct overtake_client *client = job->context->client;
	struct overtake_mapping *mapping;
	struct ovt_verdict verdict;

	if (!address)
		return 0;
	mapping = overtake_mapping_find(client, address, bytes);
	verdict = ovt_check_result(mapping ? mapping->flags : 0);
	if (verdict.reason) {
		if (mapping)
			overtake_mapping_put(mapping);
		return overtake_judge(client, verdict);
	}
	*memory = mapping->base + (address - mapping->address);
	add_mapping(job, mapping, true);
	return 0;
}

static int bind_result(struct overtake_job *job, u64 address)
{
	void *memory = NULL;
	int ret = bind_record(job, address, sizeof(struct overtake_result), &memory);

	job->result_memory = memory;
	return ret;
}

static int bind_group_record(struct overtake_job *job)
{
	struct overtake_group *group = job->group;

	return group ? bind_record(job, group->record_address,
				   ovt_group_record_bytes(group->fw.part_count), &group->record) :
		       0;
}

/* Allocates the scratch region of @job, for which its client was charged. */
int overtake_job_add_scratch(struct overtake_job *job, u32 bytes)
{
	struct ovt_region *region = &job->fw.regions[OVERTAKE_REGION_SCRATCH];

	if (!bytes)
		return 0;
	/* Not from the slab: a guard page follows, and no memory of other clients. */
	job->scratch = __vmalloc(bytes, GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN);
	if (!job->scratch)
		return -ENOMEM;
	region->base = job->scratch;
	region->length = bytes;
	region->flags = OVT_REGION_READ | OVT_REGION_WRITE;
	return 0;
}

static int add_scratch(struct overtake_job *job, u32 bytes)
{
	int ret = overtake_job_charge(job, bytes);

	return ret ? ret : overtake_job_add_scratch(job, bytes);
}

/* Allocates a fence for each of the job's buffers, for their reservation objects. */
int overtake_job_prepare_uses(struct overtake_job *job)
{
	u64 bytes = job->object_count * sizeof(struct overtake_use_fence);
	int ret = overtake_job_charge(job, bytes);
	u32 i;

	for (i = 0; i < job->object_count && !ret; i++)
		ret = overtake_use_prepare(&job->uses[i], overtake_job_device(job));
	return ret;
}

/* Copies the FCs of the job, and finds the memory that it names. */
static int fill_memory(struct overtake_job *job, const struct drm_overtake_submit *args)
{
	u32 bound = 0;
	int ret = copy_fcs(job, args);

	return ret ? ret : bind_regions(job, args->bindings, args->binding_count, &bound);
}

/* A task's job has no fence, since no waiter may depend on its process. */
static int fill_job_of_task(struct overtake_job *job, const struct drm_overtake_submit *args,
			    const struct overtake_segment_parts *parts)
{
	int ret = overtake_job_charge(job, sizeof(*job));

	if (!ret)
		ret = fill_memory(job, args);
	if (!ret && parts->part_count)
		ret = overtake_group_parse_of_task(job, args, parts);
	job->object_count = 0; /* no reservation object shows it */
	if (!ret)
		ret = add_scratch(job, args->scratch_bytes);
	return ret ? ret : begin_access(job);
}

static int fill_job(struct overtake_job *job, struct drm_file *file,
		    const struct drm_overtake_submit *args)
{
	int ret;

	ret = overtake_job_charge(job, sizeof(*job));
	if (!ret)
		ret = fill_memory(job, args);
	if (!ret)
		ret = bind_result(job, args->result);
	if (!ret)
		ret = overtake_extensions_parse(job, file, args, OVERTAKE_EXTENSIONS_OF_JOB);
	if (!ret)
		ret = bind_group_record(job);
	if (!ret)
		ret = overtake_job_prepare_uses(job);
	if (!ret)
		ret = add_scratch(job, args->scratch_bytes);
	if (!ret)
		ret = begin_access(job);
	return ret;
}

/*
 * overtake_job_fill_recording - fill @job, which never runs, with what all replays have in common
 * @bound: receives the regions that are bound, a bit for each
 *
 * May sleep.  After an error the caller frees it.
 */
int overtake_job_fill_recording(struct overtake_job *job, struct drm_file *file,
				const struct drm_overtake_submit *args, u32 *bound)
{
	int ret = overtake_job_charge(job, sizeof(*job));

	if (!ret)
		ret = copy_fcs(job, args);
	*bound = 0;
	if (!ret)
		ret = bind_regions(job, args->bindings, args->binding_count, bound);
	if (!ret)
		ret = overtake_extensions_parse(job, file, args, OVERTAKE_EXTENSIONS_OF_RECORDING);
	if (!ret && job->group && job->group->record_address)
		ret = -EINVAL;
	return ret;
}

/*
 * overtake_job_fill_replay - fill an instance of a recording with the data of one replay
 * @bound: the regions that the recording has bound
 *
 * May sleep.  Allocates memory only for @args->extensions of type SYNC.
 */
int overtake_job_fill_replay(struct overtake_job *job, struct drm_file *file,
			     const struct drm_overtake_submit *args, u32 binding_count, u32 bound)
{
	int ret = bind_regions(job, args->bindings, binding_count, &bound);

	if (!ret)
		ret = bind_result(job, args->result);
	if (!ret)
		ret = overtake_extensions_parse(job, file, args, OVERTAKE_EXTENSIONS_OF_REPLAY);
	if (!ret)
		ret = bind_group_record(job);
	return ret ? ret : begin_access(job);
}

/* Initialises @job, of which only the fields of @args are known. */
void overtake_job_init(struct overtake_job *job, struct overtake_context *context,
		       const struct drm_overtake_submit *args)
{
	kref_init(&job->ref);
	job->context = context;
	job->tag = args->tag;
	job->custom_id = args->custom_id;
	job->deadline_ns = args->deadline_ns;
	job->fw.context = &context->fw;
	job->fw.core = args->core;
	job->fw.priority = args->priority;
	RB_CLEAR_NODE(&job->tag_node);
	RB_CLEAR_NODE(&job->deadline_node);
	atomic_set(&job->syncs.pending, 1);
	INIT_LIST_HEAD(&job->syncs.link);
	INIT_LIST_HEAD(&job->batch_link);
	INIT_LIST_HEAD(&job->collect_link);
}

/* Allocates a job of @context, whose reference it takes over.  NULL: no memory. */
struct overtake_job *overtake_job_alloc(struct overtake_context *context,
					const struct drm_overtake_submit *args)
{
	struct overtake_job *job;

	/* More would take twice as much from the slab. */
	BUILD_BUG_ON(!IS_ENABLED(CONFIG_LOCKDEP) && sizeof(*job) > 2048);
	job = kzalloc(sizeof(*job), GFP_KERNEL_ACCOUNT);
	if (job)
		overtake_job_init(job, context, args);
	return job;
}

/*
 * overtake_job_create - create a job from a client's request; only the caller has it
 * @file: the file whose handles it names
 * @args: a copy that the client cannot change any more
 *
 * Returns the job with one reference, or an error and nothing has changed.  May sleep.
 */
struct overtake_job *overtake_job_create(struct drm_file *file,
					 const struct drm_overtake_submit *args)
{
	struct overtake_client *client = file->driver_priv;
	struct overtake_context *context;
	struct overtake_job *job;
	int ret;

	ret = overtake_judge(client, ovt_check_submit(args, client->device->settings.cores));
	if (ret)
		return ERR_PTR(ret);
	context = overtake_context_find(client, args->context_id);
	if (!context)
		return ERR_PTR(-ENOENT);
	ret = context->tasks ? -EINVAL :
	      overtake_judge(client, ovt_check_right(args, context->max_priority));
	if (ret) {
		overtake_context_put(context);
		return ERR_PTR(ret);
	}
	job = overtake_job_alloc(context, args);
	if (!job) {
		overtake_context_put(context);
		return ERR_PTR(-ENOMEM);
	}
	ret = fill_job(job, file, args);
	if (ret) {
		overtake_job_free(job);
		return ERR_PTR(ret);
	}
	return job;
}

/*
 * overtake_job_create_for_task - create the job of a segment, for overtake_job_start_locked()
 * @parts: a copy; if it has no part, the job is no group
 *
 * The rules are those of jobs.  The job has no fence: no reservation object shows its uses.
 */
struct overtake_job *overtake_job_create_for_task(struct overtake_context *context,
						  const struct drm_overtake_submit *args,
						  const struct overtake_segment_parts *parts)
{
	struct overtake_client *client = context->client;
	struct overtake_job *job;
	int ret;

	ret = overtake_judge(client, ovt_check_submit(args, client->device->settings.cores));
	if (!ret)
		ret = overtake_judge(client, ovt_check_right(args, context->max_priority));
	if (ret)
		return ERR_PTR(ret);
	job = overtake_job_alloc(context, args);
	if (!job)
		return ERR_PTR(-ENOMEM);
	overtake_context_get(context);
	ret = fill_job_of_task(job, args, parts);
	if (ret) {
		overtake_job_free(job);
		return ERR_PTR(ret);
	}
	return job;
}
