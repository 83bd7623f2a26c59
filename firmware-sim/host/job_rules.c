// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The rules for jobs, and the errno of each refusal. */
#include "host/job_rules.h"

#define NO_LIMIT	OVERTAKE_LIMIT_COUNT

static const struct {
	s32 error;
	u32 limit;
} refusals[OVT_REFUSAL_COUNT] = {
	[OVT_ACCEPTED] = { 0, NO_LIMIT },
	[OVT_REFUSED_FLAGS] = { -EINVAL, NO_LIMIT },
	[OVT_REFUSED_DEADLINE] = { -EINVAL, NO_LIMIT },
	[OVT_REFUSED_NO_FC] = { -EINVAL, NO_LIMIT },
	[OVT_REFUSED_NO_BINDING] = { -EINVAL, NO_LIMIT },
	[OVT_REFUSED_CORE] = { -EINVAL, NO_LIMIT },
	[OVT_REFUSED_PRIORITY] = { -EINVAL, NO_LIMIT },
	[OVT_REFUSED_RESULT_ALIGNMENT] = { -EINVAL, NO_LIMIT },
	[OVT_REFUSED_FCS] = { -E2BIG, OVERTAKE_LIMIT_FCS },
	[OVT_REFUSED_BINDINGS] = { -E2BIG, OVERTAKE_LIMIT_BINDINGS },
	[OVT_REFUSED_SCRATCH] = { -E2BIG, OVERTAKE_LIMIT_SCRATCH_BYTES },
	[OVT_REFUSED_RIGHT] = { -EPERM, NO_LIMIT },
	[OVT_REFUSED_EMPTY_FC] = { -EINVAL, NO_LIMIT },
	[OVT_REFUSED_REGION] = { -EINVAL, NO_LIMIT },
	[OVT_REFUSED_BOUND_SCRATCH] = { -EINVAL, NO_LIMIT },
	[OVT_REFUSED_BOUND_TWICE] = { -EINVAL, NO_LIMIT },
	[OVT_REFUSED_LENGTH] = { -EINVAL, NO_LIMIT },
	[OVT_REFUSED_ACCESS] = { -EINVAL, NO_LIMIT },
	[OVT_REFUSED_MEMORY] = { -ENOENT, NO_LIMIT },
	[OVT_REFUSED_READ_ONLY] = { -EACCES, NO_LIMIT },
	[OVT_REFUSED_RESULT_MEMORY] = { -ENOENT, NO_LIMIT },
	[OVT_REFUSED_RESULT_READ_ONLY] = { -EACCES, NO_LIMIT },
	[OVT_REFUSED_PLACEMENT] = { -EINVAL, NO_LIMIT },
	[OVT_REFUSED_OPEN_CORES] = { -EINVAL, NO_LIMIT },
	[OVT_REFUSED_GROUP_CORE] = { -EINVAL, NO_LIMIT },
	[OVT_REFUSED_PARTS] = { -EINVAL, NO_LIMIT },
	[OVT_REFUSED_NO_STAGE] = { -EINVAL, NO_LIMIT },
	[OVT_REFUSED_STAGES] = { -E2BIG, OVERTAKE_LIMIT_STAGES },
	[OVT_REFUSED_RECORD_ALIGNMENT] = { -EINVAL, NO_LIMIT },
	[OVT_REFUSED_PART_FCS] = { -EINVAL, NO_LIMIT },
	[OVT_REFUSED_PART_SUM] = { -EINVAL, NO_LIMIT },
	[OVT_REFUSED_PART_CORE] = { -EINVAL, NO_LIMIT },
	[OVT_REFUSED_PART_CORES] = { -EINVAL, NO_LIMIT },
	[OVT_REFUSED_PART_TWICE] = { -EINVAL, NO_LIMIT },
	[OVT_REFUSED_PART_OF_TASK] = { -EINVAL, NO_LIMIT },
	[OVT_REFUSED_FC_STAGE] = { -EINVAL, NO_LIMIT },
	[OVT_REFUSED_EMPTY_STAGE] = { -EINVAL, NO_LIMIT },
	[OVT_REFUSED_NO_INSTANCE] = { -EINVAL, NO_LIMIT },
	[OVT_REFUSED_INSTANCES] = { -E2BIG, OVERTAKE_LIMIT_INSTANCES },
	[OVT_REFUSED_RECORDINGS] = { -ENOSPC, OVERTAKE_LIMIT_RECORDINGS },
	[OVT_REFUSED_NO_RECORDING] = { -ENOENT, NO_LIMIT },
	[OVT_REFUSED_PARTS_OF_RECORD] = { -EINVAL, NO_LIMIT },
	[OVT_REFUSED_BUSY] = { -EBUSY, NO_LIMIT },
	[OVT_REFUSED_TAG] = { -EEXIST, NO_LIMIT },
	[OVT_REFUSED_QUEUE_FULL] = { -ENOSPC, OVERTAKE_LIMIT_CONTEXT_JOBS },
	[OVT_REFUSED_CLIENT_FULL] = { -ENOSPC, OVERTAKE_LIMIT_CLIENT_JOBS },
	[OVT_REFUSED_DEVICE_FULL] = { -ENOSPC, OVERTAKE_LIMIT_COMMANDS },
	[OVT_REFUSED_QUEUE_PRIORITY] = { -EINVAL, NO_LIMIT },
	[OVT_REFUSED_QUEUE_LIMIT] = { -EINVAL, NO_LIMIT },
	[OVT_REFUSED_QUEUES] = { -ENOSPC, OVERTAKE_LIMIT_CONTEXTS },
	[OVT_REFUSED_NO_BYTES] = { -EINVAL, NO_LIMIT },
	[OVT_REFUSED_BUFFER_BYTES] = { -E2BIG, OVERTAKE_LIMIT_BUFFER_BYTES },
};

s32 ovt_refusal_error(enum ovt_refusal reason)
{
	return refusals[reason].error;
}

u32 ovt_refusal_limit(enum ovt_refusal reason)
{
	return refusals[reason].limit;
}

static struct ovt_verdict verdict(enum ovt_refusal reason, u32 index)
{
	return (struct ovt_verdict){ .reason = reason, .index = index };
}

static enum ovt_refusal fields_refusal(const struct drm_overtake_submit *job, u32 cores)
{
	if (job->flags)
		return OVT_REFUSED_FLAGS;
	if (job->deadline_ns < 0)
		return OVT_REFUSED_DEADLINE;
	if (!job->fc_count)
		return OVT_REFUSED_NO_FC;
	if (!job->binding_count)
		return OVT_REFUSED_NO_BINDING;
	if (job->core > cores)
		return OVT_REFUSED_CORE;
	if (job->priority > OVERTAKE_PRIORITY_HIGH)
		return OVT_REFUSED_PRIORITY;
	if (job->result % 8)
		return OVT_REFUSED_RESULT_ALIGNMENT;
	return OVT_ACCEPTED;
}

static enum ovt_refusal limits_refusal(const struct drm_overtake_submit *job)
{
	if (job->fc_count > OVERTAKE_MAX_FCS)
		return OVT_REFUSED_FCS;
	if (job->binding_count > OVERTAKE_MAX_BINDINGS)
		return OVT_REFUSED_BINDINGS;
	if (job->scratch_bytes > OVERTAKE_MAX_SCRATCH_BYTES)
		return OVT_REFUSED_SCRATCH;
	return OVT_ACCEPTED;
}

struct ovt_verdict ovt_check_submit(const struct drm_overtake_submit *job, u32 cores)
{
	enum ovt_refusal reason = fields_refusal(job, cores);

	return verdict(reason ? reason : limits_refusal(job), 0);
}

struct ovt_verdict ovt_check_right(const struct drm_overtake_submit *job, u32 max_priority)
{
	return verdict(job->priority > max_priority ? OVT_REFUSED_RIGHT : OVT_ACCEPTED, 0);
}

struct ovt_verdict ovt_check_fcs(const struct overtake_fc *fcs, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		if (!fcs[i].insn_count)
			return verdict(OVT_REFUSED_EMPTY_FC, i);
	return verdict(OVT_ACCEPTED, 0);
}

static enum ovt_refusal binding_refusal(const struct overtake_binding *binding, u32 bound)
{
	if (binding->region >= OVERTAKE_MAX_REGIONS)
		return OVT_REFUSED_REGION;
	if (binding->region == OVERTAKE_REGION_SCRATCH)
		return OVT_REFUSED_BOUND_SCRATCH;
	if (!binding->length)
		return OVT_REFUSED_LENGTH;
	if ((binding->flags | OVERTAKE_MAP_WRITE) != (OVERTAKE_MAP_READ | OVERTAKE_MAP_WRITE))
		return OVT_REFUSED_ACCESS;
	if (bound & (1u << binding->region))
		return OVT_REFUSED_BOUND_TWICE;
	return OVT_ACCEPTED;
}

struct ovt_verdict ovt_check_binding(const struct overtake_binding *binding, u32 index, u32 *bound)
{
	enum ovt_refusal reason = binding_refusal(binding, *bound);

	if (reason)
		return verdict(reason, index);
	*bound |= 1u << binding->region;
	return verdict(OVT_ACCEPTED, 0);
}

struct ovt_verdict ovt_check_memory(const struct overtake_binding *binding, u32 index, u32 mapped)
{
	if (!mapped)
		return verdict(OVT_REFUSED_MEMORY, index);
	if (binding->flags & ~mapped & OVERTAKE_MAP_WRITE)
		return verdict(OVT_REFUSED_READ_ONLY, index);
	return verdict(OVT_ACCEPTED, 0);
}

struct ovt_verdict ovt_check_result(u32 mapped)
{
	if (!mapped)
		return verdict(OVT_REFUSED_RESULT_MEMORY, 0);
	if (!(mapped & OVERTAKE_MAP_WRITE))
		return verdict(OVT_REFUSED_RESULT_READ_ONLY, 0);
	return verdict(OVT_ACCEPTED, 0);
}

struct ovt_verdict ovt_check_placement(const struct drm_overtake_submit *job, u64 open_cores,
				       u32 cores)
{
	u64 all = ~0ull >> (OVERTAKE_MAX_CORES - cores);

	if (job->core != OVERTAKE_CORE_ANY)
		return verdict(OVT_REFUSED_PLACEMENT, 0);
	return verdict(open_cores && !(open_cores & ~all) ? OVT_ACCEPTED : OVT_REFUSED_OPEN_CORES,
		       0);
}

bool ovt_range_is_inside(u64 address, u64 length, u64 begin, u64 size)
{
	return address >= begin && length <= size && address - begin <= size - length;
}

struct ovt_verdict ovt_check_room(bool tag_in_use, u32 queue_jobs, u32 client_jobs)
{
	if (tag_in_use)
		return verdict(OVT_REFUSED_TAG, 0);
	if (queue_jobs >= OVERTAKE_MAX_JOBS)
		return verdict(OVT_REFUSED_QUEUE_FULL, 0);
	if (client_jobs >= OVERTAKE_MAX_CLIENT_JOBS)
		return verdict(OVT_REFUSED_CLIENT_FULL, 0);
	return verdict(OVT_ACCEPTED, 0);
}

struct ovt_verdict ovt_check_queue(u32 max_priority, u32 core_limit)
{
	if (max_priority > OVERTAKE_PRIORITY_HIGH)
		return verdict(OVT_REFUSED_QUEUE_PRIORITY, 0);
	if (core_limit && max_priority != OVERTAKE_PRIORITY_HIGH)
		return verdict(OVT_REFUSED_QUEUE_LIMIT, 0);
	return verdict(OVT_ACCEPTED, 0);
}

struct ovt_verdict ovt_check_buffer(u64 bytes)
{
	if (!bytes)
		return verdict(OVT_REFUSED_NO_BYTES, 0);
	if (bytes > OVERTAKE_MAX_BUFFER_BYTES)
		return verdict(OVT_REFUSED_BUFFER_BYTES, 0);
	return verdict(OVT_ACCEPTED, 0);
}
