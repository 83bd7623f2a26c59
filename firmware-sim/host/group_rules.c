// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The rules of groups. */
#include "host/group_rules.h"

static struct ovt_verdict verdict(enum ovt_refusal reason, u32 index)
{
	return (struct ovt_verdict){ .reason = reason, .index = index };
}

struct ovt_verdict ovt_check_group(const struct drm_overtake_submit *job,
				   const struct overtake_extension_parts *group, u64 open_cores,
				   u32 cores)
{
	if (job->core != OVERTAKE_CORE_ANY || open_cores)
		return verdict(OVT_REFUSED_GROUP_CORE, 0);
	if (!group->part_count || group->part_count > cores)
		return verdict(OVT_REFUSED_PARTS, 0);
	if (!group->stage_count)
		return verdict(OVT_REFUSED_NO_STAGE, 0);
	if (group->record % 8)
		return verdict(OVT_REFUSED_RECORD_ALIGNMENT, 0);
	if (group->stage_count > OVERTAKE_MAX_STAGES)
		return verdict(OVT_REFUSED_STAGES, 0);
	return verdict(OVT_ACCEPTED, 0);
}

static struct ovt_verdict check_cores(const struct overtake_part *parts, u32 count, u32 cores)
{
	bool named = parts[0].core != OVERTAKE_CORE_ANY;
	u64 taken = 0;
	u32 i;

	for (i = 0; i < count; i++) {
		bool any = parts[i].core == OVERTAKE_CORE_ANY;
		u64 bit;

		if (parts[i].core > cores)
			return verdict(OVT_REFUSED_PART_CORE, i);
		if (any == named)
			return verdict(OVT_REFUSED_PART_CORES, i);
		if (!named)
			continue;
		bit = 1ull << (parts[i].core - 1);
		if (taken & bit)
			return verdict(OVT_REFUSED_PART_TWICE, i);
		taken |= bit;
	}
	return verdict(OVT_ACCEPTED, 0);
}

struct ovt_verdict ovt_check_parts(const struct overtake_part *parts, u32 count, u32 fc_count,
				   u32 cores)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < count; i++) {
		if (!parts[i].fc_count)
			return verdict(OVT_REFUSED_PART_FCS, i);
		sum += parts[i].fc_count;
	}
	if (sum != fc_count)
		return verdict(OVT_REFUSED_PART_SUM, 0);
	return check_cores(parts, count, cores);
}

struct ovt_verdict ovt_check_parts_of_task(const struct overtake_part *parts, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++) {
		if (parts[i].core != OVERTAKE_CORE_ANY)
			return verdict(OVT_REFUSED_PART_OF_TASK, i);
	}
	return verdict(OVT_ACCEPTED, 0);
}

struct ovt_verdict ovt_check_stages(const struct overtake_part *parts, u32 part_count,
				    const u32 *stages, u32 *stage_fcs, u32 stage_count)
{
	u32 fc = 0;
	u32 i;

	memset(stage_fcs, 0, stage_count * sizeof(*stage_fcs));
	for (i = 0; i < part_count; i++) {
		u32 end = fc + parts[i].fc_count;
		u32 stage = 0;

		for (; fc < end; fc++) {
			/* Under speculation both indices could be of a client's choice. */
			u32 next = stages[ovt_index_nospec(fc, end)];

			if (next < stage || next >= stage_count)
				return verdict(OVT_REFUSED_FC_STAGE, fc);
			stage = next;
			stage_fcs[ovt_index_nospec(stage, stage_count)]++;
		}
	}
	for (i = 0; i < stage_count; i++) {
		if (!stage_fcs[i])
			return verdict(OVT_REFUSED_EMPTY_STAGE, i);
	}
	return verdict(OVT_ACCEPTED, 0);
}
