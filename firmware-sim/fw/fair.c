// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * NORMAL of a fair device: contexts take turns, weighted by priority.
 *
 * On each core the contexts with ready NORMAL FCs are in a circle.  The first context has the turn,
 * and gives as many FCs as its allowance, which depends on the priority of the turn's first FC.
 * Then the context goes to the end of the circle, or leaves it without a ready FC; a context that
 * joins does so at the end.  So other contexts, however many FCs they have, delay a context by one
 * allowance each: docs/reference/scenarios.md, "Fair".
 *
 * An FC gets its place in the ring when it is taken, and only FCs that are chosen or committed are
 * taken: a ring whose order was settled at arrival could not be fair to contexts that come later.
 * The ring is empty when FCs are taken, so it has room for all of them.
 *
 * The cost of a choice depends only on the FCs that are taken.  A context joins or leaves a circle
 * in constant time.
 *
 * A context that has used up a quota rests (fw/quota.c): its turns are in no circle.  Cores serve
 * other contexts, or stay idle.  After the rest its turns join the ends of the circles, and the
 * rest of an interrupted turn is lost.
 */
#include "fw/internal.h"

#define PRIORITIES_PER_FC	32u

static struct ovt_fw_turn *turn_of(const struct ovt_fw_part *part)
{
	return &part->job->context->turns[part->placed_core - 1];
}

static struct ovt_fw_turn *first_turn(struct ovt_fw_core *state)
{
	return ovt_container_of(state->circle.next, struct ovt_fw_turn, circle_link);
}

static struct ovt_fw_part *first_part(struct ovt_fw_turn *turn)
{
	return ovt_ready_first(turn->parts.next, &turn->parts, turn->ready.first);
}

static bool has_ready(const struct ovt_fw_turn *turn)
{
	return !ovt_list_empty(&turn->parts) || !ovt_tree_empty(&turn->ready);
}

static void leave_circle(struct ovt_fw_turn *turn)
{
	turn->allowance = 0;
	ovt_list_remove(&turn->circle_link);
}

/* Joins the circle of the core of @part, which is about to have a ready FC. */
static void join_circle(struct ovt_fw *fw, struct ovt_fw_part *part)
{
	struct ovt_fw_turn *turn = turn_of(part);

	if (!part->job->context->quota.resting && !has_ready(turn))
		ovt_list_append(&ovt_fw_state(fw, part->placed_core)->circle, &turn->circle_link);
}

void ovt_fair_open(struct ovt_fw *fw, struct ovt_fw_part *part)
{
	join_circle(fw, part);
	ovt_ready_insert(&turn_of(part)->ready, part);
}

void ovt_fair_arrive(struct ovt_fw *fw, struct ovt_fw_part *part)
{
	struct ovt_fw_turn *turn = turn_of(part);

	turn->waiting += part->fc_count;
	if (part->job->context->quota.resting)
		ovt_fw_state(fw, part->placed_core)->resting += part->fc_count;
	if (!part->job->group) {
		join_circle(fw, part);
		ovt_list_append(&turn->parts, &part->ring_link);
	} else if (ovt_group_is_ready(part)) {
		ovt_fair_open(fw, part);
	}
}

/* Forgets the FCs of @part that were not taken, if any: they never will be. */
void ovt_fair_forget(struct ovt_fw *fw, struct ovt_fw_part *part)
{
	struct ovt_fw_turn *turn = turn_of(part);
	u64 waiting = part->fc_count - part->queued;

	turn->waiting -= waiting;
	if (part->job->context->quota.resting)
		ovt_fw_state(fw, part->placed_core)->resting -= waiting;
	ovt_list_remove(&part->ring_link);
	ovt_ready_remove(&turn->ready, part);
	if (!has_ready(turn))
		leave_circle(turn);
}

/* Tells the arbiter the arrival of the job whose FC has the turn; 0: there is none. */
void ovt_fair_announce(struct ovt_fw *fw, u32 core)
{
	struct ovt_fw_core *state = ovt_fw_state(fw, core);
	u64 arrival = 0;

	if (!ovt_list_empty(&state->circle))
		arrival = first_part(first_turn(state))->job->sequence;
	ovt_core_write(ovt_fw_hw(fw, core), OVT_REG_NORMAL_NEXT, arrival);
}

/* Puts the first FC of the context that has the turn into the ring. */
static void take_one(struct ovt_fw *fw, u32 core)
{
	struct ovt_fw_core *state = ovt_fw_state(fw, core);
	struct ovt_fw_turn *turn = first_turn(state);
	struct ovt_fw_part *part = first_part(turn);

	if (!turn->allowance)
		turn->allowance = 1 + part->job->priority / PRIORITIES_PER_FC;
	turn->allowance--;
	turn->waiting--;
	ovt_ring_push(ovt_fw_hw(fw, core), OVT_RING_NORMAL, part,
		      state->next_position[OVT_RING_NORMAL]++);
	if (part->queued == part->fc_count)
		ovt_list_remove(&part->ring_link);
	if (part->job->group && !ovt_group_is_ready(part))
		ovt_ready_remove(&turn->ready, part);
	if (!has_ready(turn)) {
		leave_circle(turn);
	} else if (!turn->allowance) {
		ovt_list_remove(&turn->circle_link);
		ovt_list_append(&state->circle, &turn->circle_link);
	}
}

/* Commits the next FCs: at most @most, and at most as many as the ring, now empty, can hold. */
void ovt_fair_take(struct ovt_fw *fw, u32 core, u32 most)
{
	struct ovt_fw_core *state = ovt_fw_state(fw, core);

	if (most > OVT_RING_ENTRIES)
		most = OVT_RING_ENTRIES;
	for (; most && !ovt_list_empty(&state->circle); most--)
		take_one(fw, core);
	ovt_core_write(ovt_fw_hw(fw, core), OVT_REG_COMMIT_END,
		       state->next_position[OVT_RING_NORMAL]);
}

void ovt_fair_leave(struct ovt_fw *fw, struct ovt_fw_context *context)
{
	u32 core;

	for (core = 1; core <= fw->config.core_count; core++) {
		struct ovt_fw_turn *turn = &context->turns[core - 1];

		leave_circle(turn);
		ovt_fw_state(fw, core)->resting += turn->waiting;
	}
}

void ovt_fair_return(struct ovt_fw *fw, struct ovt_fw_context *context)
{
	u32 core;

	for (core = 1; core <= fw->config.core_count; core++) {
		struct ovt_fw_turn *turn = &context->turns[core - 1];

		ovt_fw_state(fw, core)->resting -= turn->waiting;
		if (has_ready(turn))
			ovt_list_append(&ovt_fw_state(fw, core)->circle, &turn->circle_link);
	}
}
