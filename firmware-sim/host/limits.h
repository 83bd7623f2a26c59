/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The numbers that every host gives its device by default, and how they combine. */
#ifndef OVT_HOST_LIMITS_H
#define OVT_HOST_LIMITS_H

#include <ovt_port.h>
#include "hw/core.h"
#include "hw/profile.h"

/* Device time that one FC may execute.  Plain numbers: the kernel module prints them. */
#define OVT_WATCHDOG_MS		1000
/* CPU time that executing one FC may take, where clients share a device. */
#define OVT_FC_CLOCK_MS		2000
/* Device time that a job may be in flight. */
#define OVT_QUEUE_TIMEOUT_MS	10000

/* Device time may fall so far behind before commands are taken early; see fw/fw.h. */
#define OVT_LAG_MAX_NS		1000000u
/* And so far before an FC that still executes takes longer than its model says. */
#define OVT_STRETCH_MAX_NS	100000000u

/*
 * The most there may be of @limit, OVERTAKE_LIMIT_*; 0 where it is the host's own: of commands,
 * whose queue it has made.
 */
u64 ovt_limit_value(u32 limit);

/* Cycles of @profile in @ms of device time. */
u64 ovt_watchdog_cycles(const struct ovt_profile *profile, u32 ms);

/*
 * ovt_fc_clock - what one FC may take a host of whose CPU time it may have @cpu_ns
 *
 * A host whose CPUs are taken by others gets an FC executed five times later; then it is too late
 * for those who wait.
 */
struct ovt_clock ovt_fc_clock(u64 cpu_ns);

/* The tightest of two core limits, of which 0 is none. */
u32 ovt_tightest_limit(u32 one, u32 other);

/*
 * ovt_job_deadline - when a job that arrives at @now_ns ends at the latest, in device time
 * @asked_ns: what its client asks for: 0: the default; OVERTAKE_DEADLINE_NEVER
 * @timeout_ns: the device's default, from now on
 * @max_ns: from now on, whatever was asked for; OVT_TIME_NEVER: no maximum
 *
 * Returns OVT_TIME_NEVER if it has none.
 */
u64 ovt_job_deadline(u64 asked_ns, u64 now_ns, u64 timeout_ns, u64 max_ns);

#endif
