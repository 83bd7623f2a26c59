/* SPDX-License-Identifier: GPL-2.0-only */
/* Device time and its timer.  See overtake_clock.c. */
#ifndef OVERTAKE_CLOCK_H
#define OVERTAKE_CLOCK_H

#include "overtake_drv.h"

void overtake_clock_init(struct overtake_device *device);
int overtake_clock_set_manual(struct overtake_device *device, bool manual);
int overtake_clock_advance(struct overtake_device *device, u64 target_ns);

/* Under the device lock. */
u64 overtake_clock_now(struct overtake_device *device);
u64 overtake_clock_next_locked(struct overtake_device *device);
enum ovt_advance overtake_clock_run_locked(struct overtake_device *device);
void overtake_clock_set_timer_locked(struct overtake_device *device);
void overtake_clock_kick_soon_locked(struct overtake_device *device);

#endif
