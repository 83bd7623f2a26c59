// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * NORMAL of a core with groups: the ready FCs in order of arrival.
 *
 * FCs of a group are held until their stages open, and others pass them.  So the order of the ring
 * cannot be settled at arrival.  The FCs of a group, and those of all parts that arrive behind a
 * group, get their positions when they are taken, and only FCs that are chosen or committed are
 * taken.  Such parts are deferred.  FCs that arrived before them got positions at arrival, and go
 * first.
 *
 * Deferred parts of plain jobs are always ready: they wait in the ring's list of parts.  Parts of
 * groups are in a tree while their next FC is ready, since stages open in any order.  So an FC of a
 * plain job costs the same with groups or without; an FC of a group costs the depth of a tree.
 *
 * A batch may hold more FCs than the ring has entries, so it is a prefix of this order: all FCs of
 * the parts that arrived before batch_sequence, and the FCs below batch_index of that part.  No FC
 * is held when it is committed, parts that arrive later are behind it, and a cancel leaves a hole.
 */
#include "fw/internal.h"

static struct ovt_fw_part *part_at(const struct ovt_tree_node *node)
{
	return ovt_container_of(node, struct ovt_fw_part, ready);
}

static bool arrived_before(const void *context, const struct ovt_tree_node *a,
			   const struct ovt_tree_node *b)
{
	(void)context;
	return part_at(a)->job->sequence < part_at(b)->job->sequence;
}

void ovt_ready_insert(struct ovt_tree *tree, struct ovt_fw_part *part)
{
	u64 steps = 0;

	ovt_tree_insert(tree, &part->ready, arrived_before, NULL, &steps);
}

void ovt_ready_remove(struct ovt_tree *tree, struct ovt_fw_part *part)
{
	u64 steps = 0;

	if (ovt_tree_holds(&part->ready))
		ovt_tree_remove(tree, &part->ready, &steps);
}

struct ovt_fw_part *ovt_ready_first(struct ovt_list *link, const struct ovt_list *head,
				    struct ovt_tree_node *node)
{
	struct ovt_fw_part *plain;

	if (link == head)
		return node ? part_at(node) : NULL;
	plain = ovt_container_of(link, struct ovt_fw_part, ring_link);
	return node && part_at(node)->job->sequence < plain->job->sequence ? part_at(node) : plain;
}

/* Returns the next deferred part; no other part before it has FCs that are not in the ring. */
static struct ovt_fw_part *first_deferred(struct ovt_fw_core *state)
{
	return ovt_ready_first(state->refill[OVT_RING_NORMAL], &state->parts[OVT_RING_NORMAL],
			       state->ready.first);
}

/* Ends the deferral of @part, which has no FC left to be taken. */
static void end_deferral(struct ovt_fw_core *state, struct ovt_fw_part *part)
{
	part->deferred = false;
	state->deferred--;
}

void ovt_ready_forget(struct ovt_fw *fw, struct ovt_fw_part *part)
{
	struct ovt_fw_core *state = ovt_fw_state(fw, part->placed_core);

	ovt_ready_remove(&state->ready, part);
	end_deferral(state, part);
}

static void take(struct ovt_fw *fw, u32 number, struct ovt_fw_part *part)
{
	struct ovt_fw_core *state = ovt_fw_state(fw, number);
	struct ovt_core *core = ovt_fw_hw(fw, number);

	ovt_ring_push(core, OVT_RING_NORMAL, part, state->next_position[OVT_RING_NORMAL]++);
	ovt_core_write(core, OVT_REG_COMMIT_END, state->next_position[OVT_RING_NORMAL]);
	if (part->job->group && !ovt_group_is_ready(part))
		ovt_ready_remove(&state->ready, part);
	if (part->queued < part->fc_count)
		return;
	if (!part->job->group)
		state->refill[OVT_RING_NORMAL] = part->ring_link.next;
	end_deferral(state, part);
}

static bool is_committed(const struct ovt_fw_core *state, const struct ovt_fw_part *part)
{
	return part->job->sequence < state->batch_sequence ||
	       (part->job->sequence == state->batch_sequence && part->queued < state->batch_index);
}

void ovt_ready_refill(struct ovt_fw *fw, u32 number)
{
	struct ovt_fw_core *state = ovt_fw_state(fw, number);
	struct ovt_core *core = ovt_fw_hw(fw, number);
	struct ovt_fw_part *part = NULL;

	while (ovt_ring_used(&core->rings[OVT_RING_NORMAL]) < OVT_RING_ENTRIES) {
		part = first_deferred(state);
		if (!part || !is_committed(state, part))
			break;
		take(fw, number, part);
	}
	ovt_core_write(core, OVT_REG_NORMAL_NEXT, part ? part->job->sequence : 0);
}

void ovt_ready_take(struct ovt_fw *fw, u32 core)
{
	take(fw, core, first_deferred(ovt_fw_state(fw, core)));
}

/*
 * Commits the next @count FCs.  If FCs are held, @count is 1, and that FC is taken at once.  The
 * cost is amortised over the FCs of the batch, since each part passed has at least one of them.
 */
void ovt_ready_commit(struct ovt_fw *fw, u32 number, u32 count)
{
	struct ovt_fw_core *state = ovt_fw_state(fw, number);
	struct ovt_list *head = &state->parts[OVT_RING_NORMAL];
	struct ovt_list *link = state->refill[OVT_RING_NORMAL];
	struct ovt_tree_node *node = state->ready.first;

	if (state->held) {
		ovt_ready_take(fw, number);
		return;
	}
	/* The caller has counted the parts that took positions when they arrived. */
	while (link != head && !ovt_container_of(link, struct ovt_fw_part, ring_link)->deferred)
		link = link->next;
	while (count && (link != head || node)) {
		const struct ovt_fw_part *part = ovt_ready_first(link, head, node);
		u32 waiting = part->fc_count - part->queued;
		u32 taken = waiting < count ? waiting : count;

		state->batch_sequence = part->job->sequence;
		state->batch_index = part->queued + taken;
		count -= taken;
		if (part->job->group)
			node = ovt_tree_next(node);
		else
			link = link->next;
	}
	ovt_ready_refill(fw, number);
}
