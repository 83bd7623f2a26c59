/* SPDX-License-Identifier: GPL-2.0-only */
/* Dumps of a device's state when a core was reset.  See overtake_coredump.c. */
#ifndef OVERTAKE_COREDUMP_H
#define OVERTAKE_COREDUMP_H

#include "overtake_drv.h"

int overtake_coredump_init(struct overtake_device *device);
void overtake_coredump_stop(struct overtake_device *device);
void overtake_coredump_take_locked(struct overtake_device *device, u32 core, const char *reason);

#endif
