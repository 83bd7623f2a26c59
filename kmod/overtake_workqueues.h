/* SPDX-License-Identifier: GPL-2.0-only */
/* The work queues of all devices.  They live as long as the module. */
#ifndef OVERTAKE_WORKQUEUES_H
#define OVERTAKE_WORKQUEUES_H

#include <linux/workqueue.h>

/* Last references may go in any context; what they free may sleep, so it is freed here. */
extern struct workqueue_struct *overtake_free_workqueue;

/*
 * What signals fences and looks after the device.  Not the same: what is freed waits for
 * reservation locks, whose holders may wait for a fence.
 */
extern struct workqueue_struct *overtake_workqueue;

/* The same for clients with a right to 255: the kernel's scheduler prefers its threads. */
extern struct workqueue_struct *overtake_high_workqueue;

int overtake_workqueues_create(void);
void overtake_workqueues_destroy(void);

#endif
