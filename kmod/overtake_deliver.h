/* SPDX-License-Identifier: GPL-2.0-only */
/* Notification of clients: fences, completions, wake-ups.  See overtake_deliver.c. */
#ifndef OVERTAKE_DELIVER_H
#define OVERTAKE_DELIVER_H

#include <linux/poll.h>

#include "overtake_drv.h"

struct overtake_job;

void overtake_deliver_init_client(struct overtake_client *client);

/* Under the device lock. */
void overtake_deliver_job_locked(struct overtake_job *job);
void overtake_deliver_wake_locked(struct overtake_context *context);
void overtake_deliver_readable_locked(struct overtake_client *client);
bool overtake_delivered_locked(const struct overtake_device *device);

/* Outside the device lock. */
void overtake_deliver_stop_polls(struct overtake_client *client);
void overtake_deliver_removal(struct overtake_device *device);
void overtake_deliver_poll_wait(struct overtake_client *client, struct file *filp,
				struct poll_table_struct *table);

#endif
