/* SPDX-License-Identifier: MIT */
/*
 * The two calls of Linux's virtual GEM driver that the tests make: a fence of vgem in a buffer's
 * reservation object, and its signal. Not every distribution's kernel headers have vgem_drm.h.
 */
#ifndef KMOD_VGEM_H
#define KMOD_VGEM_H

#include <linux/ioctl.h>
#include <stdint.h>

#define VGEM_FENCE_WRITE	1u

struct drm_vgem_fence_attach {
	uint32_t handle;	/* in: GEM handle */
	uint32_t flags;		/* in: VGEM_FENCE_WRITE or 0 */
	uint32_t out_fence;	/* out */
	uint32_t pad;
};

struct drm_vgem_fence_signal {
	uint32_t fence;		/* in */
	uint32_t flags;
};

#define DRM_IOCTL_VGEM_FENCE_ATTACH	_IOWR('d', 0x41, struct drm_vgem_fence_attach)
#define DRM_IOCTL_VGEM_FENCE_SIGNAL	_IOW('d', 0x42, struct drm_vgem_fence_signal)

#endif
