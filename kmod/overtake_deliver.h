/* SPDX-License-Identifier: GPL-2.0-only */
/* Telling clients what has ended.  See overtake_deliver.c. */
#ifndef OVERTAKE_DELIVER_H
#define OVERTAKE_DELIVER_H

#include "overtake_drv.h"

int overtake_deliver_start(struct overtake_device *device);
void overtake_deliver_stop(struct overtake_device *device);

/* Under the device lock. */
void overtake_deliver_locked(struct overtake_device *device);
bool overtake_delivered_locked(const struct overtake_device *device);

#endif
