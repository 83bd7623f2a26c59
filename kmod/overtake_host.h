/* SPDX-License-Identifier: GPL-2.0-only */
/* The host of firmware-sim.  See overtake_host.c. */
#ifndef OVERTAKE_HOST_H
#define OVERTAKE_HOST_H

#include "overtake_drv.h"

int overtake_host_init(struct overtake_device *device);
int overtake_host_start(struct overtake_device *device);
void overtake_host_go(struct overtake_device *device);
void overtake_host_stop(struct overtake_device *device);

/**
 * struct overtake_host_operations - functions of the host that the files below it call
 * @kick: for overtake_host_kick()
 * @run_locked: for overtake_host_run_locked()
 * @go_on: for overtake_host_go_on()
 */
struct overtake_host_operations {
	void (*kick)(struct overtake_device *device);
	bool (*run_locked)(struct overtake_device *device);
	void (*go_on)(struct overtake_device *device, bool more);
};

/* Lets the device handle what was queued.  Any context, without the device lock. */
static inline void overtake_host_kick(struct overtake_device *device)
{
	device->host->kick(device);
}

/*
 * overtake_host_kick() for a caller that holds the device lock anyway: one hold in place of two.
 * Process context, in a section of dma_fence_begin_signalling().  The caller passes the result to
 * overtake_host_go_on().
 */
static inline bool overtake_host_run_locked(struct overtake_device *device)
{
	return device->host->run_locked(device);
}

/* Called after the hold in which overtake_host_run_locked() was called. */
static inline void overtake_host_go_on(struct overtake_device *device, bool more)
{
	device->host->go_on(device, more);
}

/* For the backstop and the manual clock. */
u64 overtake_host_next_locked(struct overtake_device *device);

/* For the manual clock: the first restarts the device, the others return whether it is idle. */
void overtake_host_boot_locked(struct overtake_device *device);
bool overtake_host_is_idle_locked(struct overtake_device *device);
bool overtake_host_is_idle(struct overtake_device *device);

#endif
