/* SPDX-License-Identifier: GPL-2.0-only */
/* What a core does, and for whom, in debugfs.  See overtake_usage.c. */
#ifndef OVERTAKE_USAGE_H
#define OVERTAKE_USAGE_H

#include "overtake_drv.h"

void overtake_usage_add(struct overtake_device *device);

#endif
