// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Rings that behave as if they were unbounded.
 *
 * A part's FCs take consecutive positions of their ring when the job arrives.  As many as fit
 * become descriptors; the rest wait here, in order, and follow as the ring drains.
 *
 * This does not hold for NORMAL FCs of groups and those that arrive behind them: these may pass
 * each other, and are taken when they are chosen or committed (fw/ready.c).  Nor does it hold for
 * NORMAL FCs of a fair device (fw/fair.c).
 */
#include "fw/internal.h"

static struct ovt_fw_part *ring_part(struct ovt_list *link)
{
	return ovt_container_of(link, struct ovt_fw_part, ring_link);
}

/* Puts the next FC of @part that is in no ring yet into a ring. */
void ovt_ring_push(struct ovt_core *core, enum ovt_ring_index index, struct ovt_fw_part *part,
		   u64 position)
{
	struct ovt_ring *ring = &core->rings[index];
	const struct ovt_fw_job *job = part->job;
	u32 fc = part->queued++;

	ring->entries[ring->tail % OVT_RING_ENTRIES] = (struct ovt_descriptor){
		.part = part,
		.regions = job->regions,
		.first_insn = part->fcs[fc].first_insn,
		.insn_count = part->fcs[fc].insn_count,
		.fc_index = fc,
		.sequence = job->sequence,
		.position = position,
	};
	ovt_core_write(core, index == OVT_RING_HIGH ? OVT_REG_HIGH_TAIL : OVT_REG_NORMAL_TAIL,
		       ring->tail + 1);
}

static void refill_ring(struct ovt_fw *fw, u32 number, enum ovt_ring_index index)
{
	struct ovt_fw_core *state = ovt_fw_state(fw, number);
	struct ovt_core *core = ovt_fw_hw(fw, number);
	struct ovt_list *head = &state->parts[index];

	while (state->refill[index] != head &&
	       ovt_ring_used(&core->rings[index]) < OVT_RING_ENTRIES) {
		struct ovt_fw_part *part = ring_part(state->refill[index]);

		if (part->deferred)
			return;
		ovt_ring_push(core, index, part, part->first_position + part->queued);
		if (part->queued == part->fc_count)
			state->refill[index] = state->refill[index]->next;
	}
}

/* Tells the arbiter whether the first FC of HIGH waits for its stage. */
static void announce_hold(struct ovt_core *core)
{
	const struct ovt_ring *ring = &core->rings[OVT_RING_HIGH];
	const struct ovt_descriptor *first = &ring->entries[ring->head % OVT_RING_ENTRIES];

	ovt_core_write(core, OVT_REG_HIGH_HELD,
		       ovt_ring_used(ring) && ovt_group_holds(first->part, first->fc_index));
}

void ovt_ring_refill(struct ovt_fw *fw, u32 number)
{
	struct ovt_core *core = ovt_fw_hw(fw, number);

	ovt_core_skip_cancelled(core);
	refill_ring(fw, number, OVT_RING_HIGH);
	announce_hold(core);
	if (fw->config.fair) {
		ovt_fair_announce(fw, number);
		return;
	}
	refill_ring(fw, number, OVT_RING_NORMAL);
	if (ovt_fw_state(fw, number)->deferred || core->normal_next)
		ovt_ready_refill(fw, number);
}

/* Takes the waiting FCs of @part out of its core; only cancelled descriptors refer to it then. */
void ovt_ring_forget(struct ovt_fw *fw, struct ovt_fw_part *part)
{
	enum ovt_ring_index index = ovt_job_ring(part->job);
	struct ovt_fw_core *state = ovt_fw_state(fw, part->placed_core);
	struct ovt_ring *ring = &ovt_fw_hw(fw, part->placed_core)->rings[index];
	u32 at;

	if (fw->config.fair && index == OVT_RING_NORMAL) {
		ovt_fair_forget(fw, part);
	} else {
		if (state->refill[index] == &part->ring_link)
			state->refill[index] = part->ring_link.next;
		ovt_list_remove(&part->ring_link);
		if (part->deferred)
			ovt_ready_forget(fw, part);
	}
	if (part->queued == part->started)
		return; /* no FC of it is in the ring */
	for (at = ring->head; at != ring->tail; at++) {
		struct ovt_descriptor *descriptor = &ring->entries[at % OVT_RING_ENTRIES];

		if (descriptor->part == part)
			descriptor->cancelled = 1;
	}
}

void ovt_ring_take(struct ovt_fw *fw, u32 core)
{
	if (fw->config.fair)
		ovt_fair_take(fw, core, 1);
	else
		ovt_ready_take(fw, core);
}

/*
 * Commits the first FCs of NORMAL, as many as the limit allows.  If the limit allows all, no part
 * with positions is looked at; else at most as many parts as the limit.  The cost is amortised over
 * the FCs of the batch, since each part passed has at least one of them.  While a NORMAL FC is
 * held, only the next FC is committed: committed FCs go before others, and must not wait.
 */
void ovt_ring_commit(struct ovt_fw *fw, u32 number)
{
	struct ovt_fw_core *state = ovt_fw_state(fw, number);
	struct ovt_core *core = ovt_fw_hw(fw, number);
	struct ovt_list *head = &state->parts[OVT_RING_NORMAL];
	u32 left = (u32)ovt_core_read(core, OVT_REG_LIMIT_ACTIVE);
	struct ovt_list *link;
	u64 end = core->commit_end;

	if (state->held)
		left = 1;
	if (fw->config.fair) {
		ovt_fair_take(fw, number, left);
		return;
	}
	if (left >= state->waiting[OVT_RING_NORMAL]) {
		ovt_core_write(core, OVT_REG_COMMIT_END, state->next_position[OVT_RING_NORMAL]);
		if (state->deferred)
			ovt_ready_commit(fw, number, left);
		return;
	}
	for (link = head->next; link != head && left; link = link->next) {
		const struct ovt_fw_part *part = ring_part(link);
		u32 waiting = part->fc_count - part->started;
		u32 taken = waiting < left ? waiting : left;

		if (part->deferred)
			break;
		end = part->first_position + part->started + taken;
		left -= taken;
	}
	ovt_core_write(core, OVT_REG_COMMIT_END, end);
	if (left && state->deferred)
		ovt_ready_commit(fw, number, left);
}
