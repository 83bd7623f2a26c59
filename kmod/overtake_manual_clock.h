/* SPDX-License-Identifier: GPL-2.0-only */
/* The clock that is stepped by hand.  See overtake_manual_clock.c. */
#ifndef OVERTAKE_MANUAL_CLOCK_H
#define OVERTAKE_MANUAL_CLOCK_H

#include "overtake_drv.h"

int overtake_manual_clock_set(struct overtake_device *device, bool manual);
int overtake_manual_clock_advance(struct overtake_device *device, u64 target_ns);

#endif
