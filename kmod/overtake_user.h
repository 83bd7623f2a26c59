/* SPDX-License-Identifier: GPL-2.0-only */
/* Users of a device, and their shares of it.  See overtake_user.c. */
#ifndef OVERTAKE_USER_H
#define OVERTAKE_USER_H

#include "overtake_drv.h"

/* Command slots: two for each job in flight.  Powers of two. */
#define OVERTAKE_COMMANDS		65536u
/* Command slots that ordinary clients get. */
#define OVERTAKE_CLIENT_COMMANDS	(OVERTAKE_COMMANDS - 4096u)
/* Slots of ordinary clients: those kept for users who have none yet, and the most of one user. */
#define OVERTAKE_FIRST_COMMANDS		4096u
#define OVERTAKE_USER_COMMANDS		(OVERTAKE_CLIENT_COMMANDS / 2)

struct overtake_user *overtake_user_get(struct overtake_device *device);
void overtake_user_put(struct overtake_user *user);

/* Under the device lock. */
int overtake_user_add_job_locked(struct overtake_client *client, bool privileged);
void overtake_user_remove_job_locked(struct overtake_client *client);
int overtake_user_add_context_locked(struct overtake_client *client, u32 slots, u32 passing,
				     bool privileged);
void overtake_user_remove_context_locked(struct overtake_client *client, u32 slots);

#endif
