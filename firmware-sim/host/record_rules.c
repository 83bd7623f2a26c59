// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The rules of recordings and replays. */
#include "host/record_rules.h"

static struct ovt_verdict verdict(enum ovt_refusal reason)
{
	return (struct ovt_verdict){ .reason = reason };
}

struct drm_overtake_submit ovt_submit_of_record(const struct drm_overtake_record *record)
{
	return (struct drm_overtake_submit){
		.fcs = record->fcs,
		.bindings = record->bindings,
		.extensions = record->extensions,
		.context_id = record->context_id,
		.fc_count = record->fc_count,
		.binding_count = record->binding_count,
		.scratch_bytes = record->scratch_bytes,
	};
}

struct drm_overtake_submit ovt_submit_of_replay(const struct drm_overtake_replay *replay)
{
	return (struct drm_overtake_submit){
		.bindings = replay->bindings,
		.result = replay->result,
		.tag = replay->tag,
		.custom_id = replay->custom_id,
		.deadline_ns = replay->deadline_ns,
		.extensions = replay->extensions,
		.context_id = replay->context_id,
		.fc_count = 1,
		.binding_count = 1,
		.core = replay->core,
		.priority = replay->priority,
		.flags = replay->flags,
	};
}

struct ovt_verdict ovt_check_record(const struct drm_overtake_record *record, u32 cores)
{
	struct drm_overtake_submit submit = ovt_submit_of_record(record);
	struct ovt_verdict first = ovt_check_submit(&submit, cores);

	if (record->flags || record->pad || record->record_id)
		return verdict(OVT_REFUSED_FLAGS);
	if (first.reason)
		return first;
	if (!record->instances)
		return verdict(OVT_REFUSED_NO_INSTANCE);
	return verdict(record->instances > OVERTAKE_MAX_INSTANCES ? OVT_REFUSED_INSTANCES :
								    OVT_ACCEPTED);
}

struct ovt_verdict ovt_check_replay(const struct drm_overtake_replay *replay, u32 cores)
{
	struct drm_overtake_submit submit = ovt_submit_of_replay(replay);
	struct ovt_verdict first = ovt_check_submit(&submit, cores);

	if (replay->pad)
		return verdict(OVT_REFUSED_FLAGS);
	if (first.reason)
		return first;
	return verdict(replay->binding_count > OVERTAKE_MAX_BINDINGS ? OVT_REFUSED_BINDINGS :
								       OVT_ACCEPTED);
}

struct ovt_verdict ovt_check_replay_cores(const struct drm_overtake_replay *replay, u32 parts,
					  u64 open_cores)
{
	bool names_some = replay->core != OVERTAKE_CORE_ANY || open_cores;

	return verdict(parts && names_some ? OVT_REFUSED_GROUP_CORE : OVT_ACCEPTED);
}

struct ovt_verdict ovt_check_replay_parts(const struct overtake_extension_replay_parts *parts,
					  u32 count)
{
	if (!count || parts->part_count != count)
		return verdict(OVT_REFUSED_PARTS_OF_RECORD);
	if (parts->pad)
		return verdict(OVT_REFUSED_FLAGS);
	return verdict(parts->record % 8 ? OVT_REFUSED_RECORD_ALIGNMENT : OVT_ACCEPTED);
}
