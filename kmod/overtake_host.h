/* SPDX-License-Identifier: GPL-2.0-only */
/* The host of firmware-sim.  See overtake_host.c. */
#ifndef OVERTAKE_HOST_H
#define OVERTAKE_HOST_H

#include "overtake_drv.h"

/* Command slots: two for each job in flight.  Powers of two. */
#define OVERTAKE_COMMANDS		65536u
/* Of them, those that ordinary clients get. */
#define OVERTAKE_CLIENT_COMMANDS	(OVERTAKE_COMMANDS - 4096u)
/* Of these, those for users who have none yet, and the most that one user gets. */
#define OVERTAKE_FIRST_COMMANDS		4096u
#define OVERTAKE_USER_COMMANDS		(OVERTAKE_CLIENT_COMMANDS / 2)

int overtake_host_init(struct overtake_device *device);
int overtake_host_start(struct overtake_device *device);
void overtake_host_go(struct overtake_device *device);
void overtake_host_stop(struct overtake_device *device);

void overtake_host_kick(struct overtake_device *device);
void overtake_host_stop_context_locked(struct overtake_device *device,
				       const struct overtake_context *context);
bool overtake_host_reserve_locked(struct overtake_device *device, u32 slots, u32 kept,
				  bool privileged);

/* For the clock: restarts the device; whether it has anything left to do. */
void overtake_host_boot_locked(struct overtake_device *device);
bool overtake_host_is_idle_locked(struct overtake_device *device);
bool overtake_host_is_idle(struct overtake_device *device);

#endif
