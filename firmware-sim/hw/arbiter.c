// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The arbiter: chooses the ring whose head runs next.
 *
 * With core limit 0 the rings are one queue in order of arrival.  With limit n NORMAL FCs
 * are committed in batches of up to n; a batch runs to its end before HIGH is looked at,
 * so a HIGH FC waits for at most n NORMAL ones.  A batch is a range of positions in the
 * unbounded NORMAL ring: it ends at COMMIT_END, wherever cancelled FCs have left holes.
 * The firmware determines how far n FCs reach, since it knows the FCs that do not fit the ring:
 * ovt_ring_commit() (fw/ring.c), or ovt_fair_take() (fw/fair.c) on a fair device.
 *
 * A firmware that orders NORMAL itself keeps FCs that it has not committed out of the ring, and
 * sets NORMAL_NEXT to the arrival that is compared with HIGH's.  A choice of NORMAL or of a batch
 * then asks the firmware to put that FC into the ring.
 *
 * The first FC of HIGH may be held: the firmware sets HIGH_HELD.  Neither this FC starts nor any
 * behind it.  With a limit, NORMAL waits as well unless it is committed, since it would make the
 * held FC late.  Without a limit, a held HIGH FC delays nothing.
 *
 * A NORMAL floor of m, off by default, bounds how long a limit can starve NORMAL: when m HIGH FCs
 * in a row have gone ahead of a waiting NORMAL FC, the NORMAL FC runs before the next HIGH one.
 */
#include "hw/core.h"

static const struct ovt_descriptor *ring_head(const struct ovt_ring *ring)
{
	if (!ovt_ring_used(ring))
		return NULL;
	return &ring->entries[ring->head % OVT_RING_ENTRIES];
}

enum ovt_choice ovt_arbiter_choose(struct ovt_core *core)
{
	const struct ovt_descriptor *high = ring_head(&core->rings[OVT_RING_HIGH]);
	const struct ovt_descriptor *normal = ring_head(&core->rings[OVT_RING_NORMAL]);
	bool committed = normal && normal->position < core->commit_end;
	u64 arrival = normal ? normal->sequence : core->normal_next;

	if (!committed)
		core->limit_active = core->limit;
	if (!core->limit_active) {
		if (high && !core->high_held && (!arrival || high->sequence < arrival))
			return OVT_CHOOSE_HIGH;
		return arrival ? OVT_CHOOSE_NORMAL : OVT_CHOOSE_NOTHING;
	}
	if (committed)
		return OVT_CHOOSE_NORMAL;
	if (!high)
		return arrival ? OVT_CHOOSE_COMMIT : OVT_CHOOSE_NOTHING;
	if (arrival && core->normal_floor && core->overtook >= core->normal_floor)
		return OVT_CHOOSE_NORMAL;
	return core->high_held ? OVT_CHOOSE_NOTHING : OVT_CHOOSE_HIGH;
}
