/* SPDX-License-Identifier: GPL-2.0-only */
/* The backstop: looks for lost wake-ups, lost timers, stuck cores.  See overtake_backstop.c. */
#ifndef OVERTAKE_BACKSTOP_H
#define OVERTAKE_BACKSTOP_H

#include "overtake_drv.h"

void overtake_backstop_init(struct overtake_device *device);
void overtake_backstop_start(struct overtake_device *device);
/* May sleep. */
void overtake_backstop_stop(struct overtake_device *device);

#endif
