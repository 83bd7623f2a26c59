/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What strangers may see of a core's counters.
 *
 * How long an FC takes tells of what it computes, and counters that are read often enough tell how
 * long each FC takes.  So strangers see coarse ones:
 *
 *	when	they change at whole multiples of OVT_COARSE_PERIOD_NS of the host's clock, to what
 *		they were then.  The first caller after that instant takes the values, before the
 *		device moves on: it does not matter which caller that is, nor how many there are
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

/* Of a client on a core: what is not shown yet.  The rest when it goes is never shown. */
struct ovt_coarse_rest {
	u64 busy_ns;
	u32 fcs[OVT_RING_COUNT];
};

/* Of a core: what is shown of all clients together, once the period is over. */
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
