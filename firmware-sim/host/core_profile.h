/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* How a host describes the profiles of its cores, which may differ. */
#ifndef OVT_HOST_CORE_PROFILE_H
#define OVT_HOST_CORE_PROFILE_H

#include <ovt_port.h>
#include "hw/profile.h"
#include "overtake_accel.h"

/* Returns the profile of a core as clients see it.  It cuts a name that is too long. */
struct drm_overtake_core_profile ovt_core_profile(const struct ovt_profile *profile,
						  u64 watchdog_cycles);

/* Returns true if the profiles have the same names, numbers and costs; sync_cycles may differ. */
bool ovt_profiles_alike(const struct ovt_profile *profiles, u32 count);

#endif
