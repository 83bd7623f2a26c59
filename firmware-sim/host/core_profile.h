/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What a host says of the profiles of its cores, which may differ. */
#ifndef OVT_HOST_CORE_PROFILE_H
#define OVT_HOST_CORE_PROFILE_H

#include <ovt_port.h>
#include "hw/profile.h"
#include "overtake_accel.h"

/* The profile of a core as clients see it.  A longer name is cut. */
struct drm_overtake_core_profile ovt_core_profile(const struct ovt_profile *profile,
						  u64 watchdog_cycles);

/* True if cores with these profiles are alike: names and all numbers are the same. */
bool ovt_profiles_alike(const struct ovt_profile *profiles, u32 count);

#endif
