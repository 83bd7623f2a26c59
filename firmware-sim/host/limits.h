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
/* Device time that a job without a deadline of its own may be in flight. */
#define OVT_QUEUE_TIMEOUT_MS	10000

/* Longest lag of device time before commands are taken early; see fw/fw.h. */
#define OVT_LAG_MAX_NS		1000000u
/* Longest lag of device time before an FC that still executes takes longer than its model says. */
#define OVT_STRETCH_MAX_NS	100000000u

/*
 * Returns the value of @limit, OVERTAKE_LIMIT_*; 0 for the limits of commands, which are the
 * host's own.
 */
u64 ovt_limit_value(u32 limit);

/* Returns the cycles of @profile in @ms of device time. */
u64 ovt_watchdog_cycles(const struct ovt_profile *profile, u32 ms);

/*
 * ovt_fc_clock - the clock of an FC that may have @cpu_ns of a host's CPU time
 *
 * The FC may take five times @cpu_ns of wall time, since the host's CPUs may do other work.  More
 * would be too late for clients that wait.
 */
struct ovt_clock ovt_fc_clock(u64 cpu_ns);

/* Returns the tighter of two core limits, where 0 is no limit. */
u32 ovt_tightest_limit(u32 one, u32 other);

/*
 * ovt_job_deadline - device time at which a job that arrives at @now_ns is cancelled
 * @asked_ns: the client's deadline; 0: the default; OVERTAKE_DEADLINE_NEVER: none
 * @timeout_ns: the device's default, counted from @now_ns
 * @max_ns: greatest time from @now_ns, whatever @asked_ns is; OVT_TIME_NEVER: no maximum
 *
 * Returns OVT_TIME_NEVER if the job has no deadline.
 */
u64 ovt_job_deadline(u64 asked_ns, u64 now_ns, u64 timeout_ns, u64 max_ns);

#endif
