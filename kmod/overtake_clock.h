/* SPDX-License-Identifier: GPL-2.0-only */
/* Device time and its timer.  See overtake_clock.c. */
#ifndef OVERTAKE_CLOCK_H
#define OVERTAKE_CLOCK_H

#include "overtake_drv.h"

void overtake_clock_init(struct overtake_device *device);

/* Under the device lock. */
u64 overtake_clock_now(struct overtake_device *device);
void overtake_clock_set_timer_locked(struct overtake_device *device, u64 time_ns);
void overtake_clock_kick_soon_locked(struct overtake_device *device);

#endif
