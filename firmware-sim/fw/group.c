// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Groups: jobs with a part on each of several cores, which go through numbered stages together.
 *
 * A stage ends with the last of its FCs, in whichever part.  Then the next stage opens.  If only
 * one part had FCs in the ended stage, it opens at once for that part, since their output is on its
 * core; for each other part it opens a sync later.  Until its stage is open for its part, an FC is
 * held.  The HIGH ring waits while its first FC is held; NORMAL FCs pass held FCs (fw/ready.c).
 * docs/reference/scenarios.md, "Groups", explains why no deadlock is possible.
 *
 * All groups have the same sync, so the list of openings is in the order of time.  A group has at
 * most one opening in it: if a stage ends before it has opened for all parts, the other parts had
 * no FC in it, and its opening would change nothing.
 *
 * The end of an FC costs the same for all groups; the end of a stage costs a step for each part.
 */
#include "fw/internal.h"

static struct ovt_fw_group *first_opening(const struct ovt_fw *fw)
{
	return ovt_container_of(fw->openings.next, struct ovt_fw_group, opening);
}

/* Returns the last stage that is open for @part. */
static u32 open_stage(const struct ovt_fw_part *part)
{
	const struct ovt_fw_group *group = part->job->group;

	return part == group->ahead ? group->stage : group->open;
}

bool ovt_group_holds(const struct ovt_fw_part *part, u32 index)
{
	return part->stages && part->stages[index] > open_stage(part);
}

bool ovt_group_is_ready(const struct ovt_fw_part *part)
{
	return part->queued < part->fc_count && !ovt_group_holds(part, part->queued);
}

bool ovt_group_holds_some(const struct ovt_fw_part *part)
{
	return ovt_group_holds(part, part->fc_count - 1);
}

void ovt_group_arrive(struct ovt_fw_group *group)
{
	group->stage = 0;
	group->left = group->stage_fcs[0];
	group->open = 0;
	group->ahead = NULL;
	group->worker = NULL;
	group->shared = false;
	group->alone_ns = 0;
	ovt_list_init(&group->opening);
}

static u64 sync_ns(const struct ovt_fw *fw)
{
	const struct ovt_profile *profile = fw->config.cores[0].profile;

	return fw->config.mode == OVT_MODE_FUNCTIONAL ?
		       0 : ovt_cycles_to_ns(profile, profile->sync_cycles);
}

/* The stage of @group has opened for @part. */
static void open_for(struct ovt_fw *fw, const struct ovt_fw_group *group, struct ovt_fw_part *part)
{
	struct ovt_fw_core *state = ovt_fw_state(fw, part->placed_core);

	if (ovt_job_ring(part->job) == OVT_RING_HIGH)
		return;
	if (part->stages[part->fc_count - 1] == group->stage)
		state->held--;
	if (part->queued == part->fc_count || part->stages[part->queued] != group->stage)
		return;
	if (fw->config.fair)
		ovt_fair_open(fw, part);
	else
		ovt_ready_insert(&state->ready, part);
}

static void open_for_others(struct ovt_fw *fw, struct ovt_fw_group *group)
{
	u32 i;

	group->open = group->stage;
	for (i = 0; i < group->part_count; i++) {
		if (&group->parts[i] != group->ahead)
			open_for(fw, group, &group->parts[i]);
	}
	fw->choose = true;
}

/* Adds the time of the stage: its longest part, with the sync for which that part waited. */
static void add_time_alone(struct ovt_fw *fw, struct ovt_fw_group *group)
{
	u64 sync = group->stage ? sync_ns(fw) : 0;
	u64 longest = 0;
	u32 i;

	for (i = 0; i < group->part_count; i++) {
		struct ovt_fw_part *part = &group->parts[i];
		u64 alone = part->stage_ns;

		if (alone && part != group->ahead)
			alone += sync;
		if (alone > longest)
			longest = alone;
		part->stage_ns = 0;
	}
	group->alone_ns += longest;
}

static void end_stage(struct ovt_fw *fw, struct ovt_fw_group *group)
{
	u64 sync = sync_ns(fw);

	add_time_alone(fw, group);
	ovt_list_remove(&group->opening);
	if (++group->stage == group->stage_count)
		return;
	group->left = group->stage_fcs[group->stage];
	group->ahead = group->shared ? NULL : group->worker;
	group->worker = NULL;
	group->shared = false;
	if (group->ahead)
		open_for(fw, group, group->ahead);
	if (!sync) {
		open_for_others(fw, group);
		return;
	}
	group->opens_ns = fw->now_ns + sync;
	ovt_list_append(&fw->openings, &group->opening);
}

void ovt_group_fc_ended(struct ovt_fw *fw, struct ovt_fw_part *part)
{
	struct ovt_fw_group *group = part->job->group;

	if (!group->worker)
		group->worker = part;
	else if (group->worker != part)
		group->shared = true;
	if (!--group->left)
		end_stage(fw, group);
}

void ovt_group_charge(struct ovt_fw *fw, struct ovt_fw_part *part, u64 duration_ns)
{
	part->done++;
	part->end_ns = fw->now_ns;
	part->executed_ns += duration_ns;
	part->stage_ns += duration_ns;
}

void ovt_group_stop(struct ovt_fw_group *group)
{
	ovt_list_remove(&group->opening);
}

void ovt_group_end(struct ovt_fw *fw, struct ovt_fw_group *group)
{
	ovt_group_stop(group);
	add_time_alone(fw, group);
}

u64 ovt_group_next(const struct ovt_fw *fw)
{
	return ovt_list_empty(&fw->openings) ? OVT_TIME_NEVER : first_opening(fw)->opens_ns;
}

u32 ovt_group_open_stages(struct ovt_fw *fw)
{
	u32 count = 0;

	for (; ovt_group_next(fw) <= fw->now_ns; count++) {
		struct ovt_fw_group *group = first_opening(fw);

		ovt_list_remove(&group->opening);
		open_for_others(fw, group);
	}
	return count;
}
