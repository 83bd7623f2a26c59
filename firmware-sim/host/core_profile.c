// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* How a host describes the profiles of its cores, which may differ. */
#include "host/core_profile.h"

struct drm_overtake_core_profile ovt_core_profile(const struct ovt_profile *profile,
						  u64 watchdog_cycles)
{
	struct drm_overtake_core_profile shown = {
		.clock_khz = profile->clock_khz,
		.macs_per_cycle = profile->macs_per_cycle,
		.vector_per_cycle = profile->vector_per_cycle,
		.bytes_per_cycle = profile->bytes_per_cycle,
		.insn_overhead_cycles = profile->insn_overhead_cycles,
		.fc_overhead_cycles = profile->fc_overhead_cycles,
		.watchdog_cycles = watchdog_cycles,
		.without = profile->without,
	};
	u32 i;

	for (i = 0; i + 1 < OVERTAKE_PROFILE_NAME_BYTES && profile->name[i]; i++)
		shown.name[i] = profile->name[i];
	return shown;
}

static bool alike(const struct ovt_profile *a, const struct ovt_profile *b)
{
	return !strcmp(a->name, b->name) && a->clock_khz == b->clock_khz &&
	       a->macs_per_cycle == b->macs_per_cycle &&
	       a->vector_per_cycle == b->vector_per_cycle &&
	       a->bytes_per_cycle == b->bytes_per_cycle &&
	       a->insn_overhead_cycles == b->insn_overhead_cycles &&
	       a->fc_overhead_cycles == b->fc_overhead_cycles && a->costs == b->costs &&
	       a->without == b->without;
}

bool ovt_profiles_alike(const struct ovt_profile *profiles, u32 count)
{
	u32 i;

	for (i = 1; i < count; i++) {
		if (!alike(&profiles[0], &profiles[i]))
			return false;
	}
	return true;
}
