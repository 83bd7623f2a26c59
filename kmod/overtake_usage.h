/* SPDX-License-Identifier: GPL-2.0-only */
/* Files of debugfs that show the work of a core and its clients.  See overtake_usage.c. */
#ifndef OVERTAKE_USAGE_H
#define OVERTAKE_USAGE_H

#include "overtake_drv.h"

void overtake_usage_add(struct overtake_device *device);

#endif
