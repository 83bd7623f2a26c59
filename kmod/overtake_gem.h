/* SPDX-License-Identifier: GPL-2.0-only */
/* Buffers, and the device address space of a client.  See overtake_gem.c. */
#ifndef OVERTAKE_GEM_H
#define OVERTAKE_GEM_H

#include "overtake_drv.h"

struct drm_gem_object *overtake_gem_create_object(struct drm_device *drm, size_t size);
int overtake_bo_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int overtake_bo_mmap_offset_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int overtake_bo_map_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int overtake_bo_unmap_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int overtake_bo_wait_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
struct overtake_mapping *overtake_mapping_find(struct overtake_client *client, u64 address,
					       u64 length);
void overtake_mapping_put(struct overtake_mapping *mapping);
void overtake_client_unmap_all(struct overtake_client *client);

#endif
