/* SPDX-License-Identifier: GPL-2.0-only */
/* The host of firmware-sim: time, threads, timer.  See overtake_host.c. */
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

u64 overtake_host_now(struct overtake_device *device);
u64 overtake_host_next_locked(struct overtake_device *device);
void overtake_host_kick(struct overtake_device *device);
void overtake_host_kick_soon_locked(struct overtake_device *device);
void overtake_host_stop_context_locked(struct overtake_device *device,
				       const struct overtake_context *context);
bool overtake_host_reserve_locked(struct overtake_device *device, u32 slots, u32 kept,
				  bool privileged);
void overtake_host_update_limits(struct overtake_device *device, u32 slots);
int overtake_host_set_limit(struct overtake_device *device, u32 core, u32 limit);
int overtake_host_set_normal_floor(struct overtake_device *device, u32 core, u32 floor);
int overtake_host_set_manual(struct overtake_device *device, bool manual);
int overtake_host_advance_clock(struct overtake_device *device, u64 target_ns);

#endif
