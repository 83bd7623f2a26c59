/* SPDX-License-Identifier: GPL-2.0-only */
/* Queries of clients.  See overtake_query.c. */
#ifndef OVERTAKE_QUERY_H
#define OVERTAKE_QUERY_H

#include "overtake_drv.h"

int overtake_query_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

#endif
