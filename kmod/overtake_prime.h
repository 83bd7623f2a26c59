/* SPDX-License-Identifier: GPL-2.0-only */
/* Buffers that are shared with other devices.  See overtake_prime.c. */
#ifndef OVERTAKE_PRIME_H
#define OVERTAKE_PRIME_H

#include "overtake_drv.h"

struct dma_buf;
struct iosys_map;

struct drm_gem_object *overtake_prime_import(struct drm_device *drm, struct dma_buf *dmabuf);
int overtake_prime_fd_to_handle(struct drm_device *drm, struct drm_file *file, int fd,
				u32 *handle);
bool overtake_bo_may_write(const struct overtake_client *client, struct drm_gem_object *object);
int overtake_import_map(struct drm_gem_object *object, struct iosys_map *map);
void overtake_import_unmap(struct drm_gem_object *object, struct iosys_map *map);
int overtake_import_begin_access(struct drm_gem_object *object);
void overtake_import_end_access(struct drm_gem_object *object);

#endif
