/* SPDX-License-Identifier: GPL-2.0-only */
/* Ended jobs, until the client collects them.  See overtake_collect.c. */
#ifndef OVERTAKE_COLLECT_H
#define OVERTAKE_COLLECT_H

#include "overtake_drv.h"

/* For the host: the first under the device lock, the second outside it. */
bool overtake_jobs_forget_some_locked(struct overtake_context *context,
				      struct list_head *forgotten);
void overtake_jobs_put_forgotten(struct list_head *forgotten);

int overtake_wait_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

#endif
