// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Combinations of the settings of a device, its administrator and its clients. */
#include "host/limits.h"
#include "overtake_accel.h"

#define WALL_PER_CLOCK	5u

/* Returns @now_ns + @wait_ns, at most OVT_TIME_NEVER. */
static u64 later(u64 now_ns, u64 wait_ns)
{
	return wait_ns < OVT_TIME_NEVER - now_ns ? now_ns + wait_ns : OVT_TIME_NEVER;
}

u64 ovt_limit_value(u32 limit)
{
	static const u64 values[OVERTAKE_LIMIT_COUNT] = {
		[OVERTAKE_LIMIT_CONTEXTS] = OVERTAKE_MAX_CONTEXTS,
		[OVERTAKE_LIMIT_CONTEXT_JOBS] = OVERTAKE_MAX_JOBS,
		[OVERTAKE_LIMIT_CLIENT_JOBS] = OVERTAKE_MAX_CLIENT_JOBS,
		[OVERTAKE_LIMIT_BUFFERS] = OVERTAKE_MAX_BUFFERS,
		[OVERTAKE_LIMIT_CLIENT_BYTES] = OVERTAKE_MAX_CLIENT_BYTES,
		[OVERTAKE_LIMIT_BUFFER_BYTES] = OVERTAKE_MAX_BUFFER_BYTES,
		[OVERTAKE_LIMIT_FCS] = OVERTAKE_MAX_FCS,
		[OVERTAKE_LIMIT_BINDINGS] = OVERTAKE_MAX_BINDINGS,
		[OVERTAKE_LIMIT_SCRATCH_BYTES] = OVERTAKE_MAX_SCRATCH_BYTES,
		[OVERTAKE_LIMIT_SYNCS] = OVERTAKE_MAX_SYNCS,
		[OVERTAKE_LIMIT_TASKS] = OVERTAKE_MAX_TASKS,
		[OVERTAKE_LIMIT_SEGMENTS] = OVERTAKE_MAX_SEGMENTS,
		[OVERTAKE_LIMIT_USER_TASKS] = OVERTAKE_MAX_USER_TASKS,
		[OVERTAKE_LIMIT_WAITERS] = OVERTAKE_MAX_WAITERS,
		[OVERTAKE_LIMIT_STAGES] = OVERTAKE_MAX_STAGES,
		[OVERTAKE_LIMIT_RECORDINGS] = OVERTAKE_MAX_RECORDINGS,
		[OVERTAKE_LIMIT_INSTANCES] = OVERTAKE_MAX_INSTANCES,
	};

	return limit < OVERTAKE_LIMIT_COUNT ? values[limit] : 0;
}

u64 ovt_watchdog_cycles(const struct ovt_profile *profile, u32 ms)
{
	return (u64)ms * profile->clock_khz;
}

struct ovt_clock ovt_fc_clock(u64 cpu_ns)
{
	bool fits = cpu_ns <= OVT_TIME_NEVER / WALL_PER_CLOCK;

	return (struct ovt_clock){
		.cpu_ns = cpu_ns,
		.wall_ns = fits ? cpu_ns * WALL_PER_CLOCK : OVT_TIME_NEVER,
	};
}

u32 ovt_tightest_limit(u32 one, u32 other)
{
	if (!one || !other)
		return one + other;
	return one < other ? one : other;
}

u64 ovt_job_deadline(u64 asked_ns, u64 now_ns, u64 timeout_ns, u64 max_ns)
{
	u64 latest_ns = later(now_ns, max_ns);
	u64 deadline_ns = asked_ns;

	if (!asked_ns)
		deadline_ns = later(now_ns, timeout_ns);
	else if (asked_ns == OVERTAKE_DEADLINE_NEVER)
		deadline_ns = OVT_TIME_NEVER;
	return deadline_ns < latest_ns ? deadline_ns : latest_ns;
}
