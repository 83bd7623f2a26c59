/* SPDX-License-Identifier: GPL-2.0-only */
/* Clients (open files) and contexts (their queues).  See overtake_ctx.c. */
#ifndef OVERTAKE_CTX_H
#define OVERTAKE_CTX_H

#include "overtake_drv.h"

struct drm_printer;

int overtake_client_open(struct drm_device *drm, struct drm_file *file);
void overtake_client_close(struct drm_device *drm, struct drm_file *file);
void overtake_client_get(struct overtake_client *client);
void overtake_client_put(struct overtake_client *client);
int overtake_client_charge(struct overtake_client *client, u64 bytes);
void overtake_client_uncharge(struct overtake_client *client, u64 bytes);
void overtake_client_fdinfo(struct drm_printer *printer, struct drm_file *file);
__poll_t overtake_poll(struct file *file, struct poll_table_struct *table);

struct overtake_context *overtake_context_find(struct overtake_client *client, u32 id);
void overtake_context_get(struct overtake_context *context);
void overtake_context_put(struct overtake_context *context);
int overtake_context_add_waiter(struct overtake_context *context);
void overtake_context_remove_waiter(struct overtake_context *context);
u32 overtake_context_slots(const struct overtake_context *context);
void overtake_context_kill(struct overtake_context *context);
void overtake_contexts_kill_all(struct overtake_device *device);
int overtake_context_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int overtake_context_destroy_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

/* Of somebody who has a right to priority 255. */
static inline bool overtake_context_is_privileged(const struct overtake_context *context)
{
	return context->max_priority == OVERTAKE_PRIORITY_HIGH;
}

#endif
