/* SPDX-License-Identifier: GPL-2.0-only */
/* Tables for sysfs: what a core does, and for whom.  See overtake_usage.c. */
#ifndef OVERTAKE_USAGE_H
#define OVERTAKE_USAGE_H

#include "overtake_drv.h"

/* Each fills a page, @text, for @core (from 1); bytes written or an error.  May sleep. */
ssize_t overtake_usage_ratio(struct overtake_device *device, u32 core, char *text);
ssize_t overtake_usage_queue(struct overtake_device *device, u32 core, char *text);
ssize_t overtake_usage_fc_time(struct overtake_device *device, u32 core, char *text);
ssize_t overtake_usage_users(struct overtake_device *device, u32 core, char *text);

#endif
