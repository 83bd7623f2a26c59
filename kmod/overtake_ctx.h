/* SPDX-License-Identifier: GPL-2.0-only */
/* The life of clients (open files) and contexts (their queues).  See overtake_ctx.c. */
#ifndef OVERTAKE_CTX_H
#define OVERTAKE_CTX_H

#include "overtake_drv.h"

struct drm_printer;

int overtake_client_open(struct drm_device *drm, struct drm_file *file);
void overtake_client_close(struct drm_device *drm, struct drm_file *file);
void overtake_client_fdinfo(struct drm_printer *printer, struct drm_file *file);
__poll_t overtake_poll(struct file *file, struct poll_table_struct *table);

void overtake_context_kill(struct overtake_context *context);
void overtake_contexts_kill_all(struct overtake_device *device);
int overtake_context_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int overtake_context_destroy_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

#endif
