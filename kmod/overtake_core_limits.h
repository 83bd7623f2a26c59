/* SPDX-License-Identifier: GPL-2.0-only */
/* The core limit and the NORMAL floor of each core.  See overtake_core_limits.c. */
#ifndef OVERTAKE_CORE_LIMITS_H
#define OVERTAKE_CORE_LIMITS_H

#include "overtake_drv.h"

int overtake_core_limits_set(struct overtake_device *device, u32 core, u32 limit);
int overtake_normal_floor_set(struct overtake_device *device, u32 core, u32 floor);

/* Under the device lock. */
void overtake_core_limits_update_locked(struct overtake_device *device, u32 slots, u32 by_pid);

#endif
