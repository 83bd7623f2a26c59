/* SPDX-License-Identifier: GPL-2.0-only */
/* The work queues of all devices.  They live as long as the module. */
#ifndef OVERTAKE_WORKQUEUES_H
#define OVERTAKE_WORKQUEUES_H

#include <linux/workqueue.h>

/*
 * Frees objects.  Their last references may be dropped in any context, and freeing them may sleep.
 */
extern struct workqueue_struct *overtake_free_workqueue;

/*
 * Signals fences, bans contexts and runs the backstop.  It is not overtake_free_workqueue: an
 * object that is freed waits for reservation locks, whose holders may wait for a fence.
 */
extern struct workqueue_struct *overtake_workqueue;

/*
 * Signals the fences of clients with a right to 255, and goes on with rounds of the host.  The
 * kernel's scheduler prefers its threads.
 */
extern struct workqueue_struct *overtake_high_workqueue;

int overtake_workqueues_create(void);
void overtake_workqueues_destroy(void);

#endif
