/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Coarse counters of a core, for processes that may not see the work of others exactly.
 *
 * The time of an FC is a hint of what it computes, and counters that are read often enough show the
 * time of each FC.  So these processes see coarse counters:
 *
 *	when	they change at whole multiples of OVT_COARSE_PERIOD_NS of the host's clock, to their
 *		values at that instant.  The first caller after it takes the values, before the
 *		device moves on: neither the caller nor the number of callers matters
 *	what	the work of each client is rounded down for itself, and then added up.  A client
 *		that adds work of its own to change the sum does not learn what others' work was
 */
#ifndef OVT_HOST_COARSE_H
#define OVT_HOST_COARSE_H

#include <ovt_port.h>
#include "hw/core.h"

#define OVT_COARSE_PERIOD_NS	100000000u
#define OVT_COARSE_BUSY_NS	10000000u
#define OVT_COARSE_FCS		16u
#define OVT_COARSE_PREEMPTIONS	16u

/* Work of a client on a core that is not shown yet.  When the client goes, it is never shown. */
struct ovt_coarse_rest {
	u64 busy_ns;
	u32 fcs[OVT_RING_COUNT];
};

/* Work of all clients together on a core that is shown once the period is over. */
struct ovt_coarse_sum {
	u64 busy_ns;
	u64 fcs[OVT_RING_COUNT];
};

/* An FC of the client has ended. */
static inline void ovt_coarse_count(struct ovt_coarse_sum *sum, struct ovt_coarse_rest *rest,
				    u32 ring, u64 duration_ns)
{
	u64 busy_ns = rest->busy_ns + duration_ns;

	rest->busy_ns = busy_ns % OVT_COARSE_BUSY_NS;
	sum->busy_ns += busy_ns - rest->busy_ns;
	if (++rest->fcs[ring] < OVT_COARSE_FCS)
		return;
	sum->fcs[ring] += rest->fcs[ring];
	rest->fcs[ring] = 0;
}

static inline u64 ovt_coarse_period(u64 now_ns)
{
	return now_ns / OVT_COARSE_PERIOD_NS;
}

static inline u64 ovt_coarse_preemptions(u64 preemptions)
{
	return preemptions - preemptions % OVT_COARSE_PREEMPTIONS;
}

#endif
