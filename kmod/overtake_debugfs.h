/* SPDX-License-Identifier: GPL-2.0-only */
/* The files of debugfs, for developers and tests.  See overtake_debugfs.c. */
#ifndef OVERTAKE_DEBUGFS_H
#define OVERTAKE_DEBUGFS_H

#include "overtake_drv.h"

void overtake_debugfs_add(struct overtake_device *device);

#endif
