/* SPDX-License-Identifier: GPL-2.0-only */
/* The threads that execute FCs.  See overtake_core.c. */
#ifndef OVERTAKE_CORE_H
#define OVERTAKE_CORE_H

#include "overtake_drv.h"

int overtake_cores_start(struct overtake_device *device);
void overtake_cores_stop(struct overtake_device *device);
void overtake_core_abort_locked(struct overtake_device *device, u32 core);
int overtake_core_reset(struct overtake_device *device, u32 core);

#endif
