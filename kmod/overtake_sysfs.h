/* SPDX-License-Identifier: GPL-2.0-only */
/* The files of sysfs, for administrators.  See overtake_sysfs.c. */
#ifndef OVERTAKE_SYSFS_H
#define OVERTAKE_SYSFS_H

#include "overtake_drv.h"

int overtake_sysfs_add(struct overtake_device *device);
void overtake_sysfs_remove(struct overtake_device *device);

#endif
