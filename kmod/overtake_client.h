/* SPDX-License-Identifier: GPL-2.0-only */
/* Clients (open files) and contexts (their queues) as objects.  See overtake_client.c. */
#ifndef OVERTAKE_CLIENT_H
#define OVERTAKE_CLIENT_H

#include "overtake_drv.h"

void overtake_client_get(struct overtake_client *client);
void overtake_client_put(struct overtake_client *client);
int overtake_client_charge(struct overtake_client *client, u64 bytes);
void overtake_client_uncharge(struct overtake_client *client, u64 bytes);
int overtake_client_charge_buffer(struct overtake_client *client, u64 size);
void overtake_client_uncharge_buffer(struct overtake_client *client, u64 size);

struct overtake_context *overtake_context_find(struct overtake_client *client, u32 id);
void overtake_context_get(struct overtake_context *context);
void overtake_context_put(struct overtake_context *context);
int overtake_context_add_sleeper(struct overtake_context *context, atomic_t *sleepers);
int overtake_context_add_waiter(struct overtake_context *context);
void overtake_context_remove_waiter(struct overtake_context *context);
u32 overtake_context_slots(const struct overtake_context *context);

/* Whether @context was created with the right to priority 255. */
static inline bool overtake_context_is_privileged(const struct overtake_context *context)
{
	return context->max_priority == OVERTAKE_PRIORITY_HIGH;
}

#endif
