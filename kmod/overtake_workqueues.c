// SPDX-License-Identifier: GPL-2.0-only
/* The work queues of all devices; the header describes the work of each. */
#include "overtake_workqueues.h"

struct workqueue_struct *overtake_free_workqueue;
struct workqueue_struct *overtake_workqueue;
struct workqueue_struct *overtake_high_workqueue;

/* Work on the first two may queue work on the third, but not the other way round. */
void overtake_workqueues_destroy(void)
{
	if (overtake_high_workqueue)
		destroy_workqueue(overtake_high_workqueue);
	if (overtake_workqueue)
		destroy_workqueue(overtake_workqueue);
	if (overtake_free_workqueue)
		destroy_workqueue(overtake_free_workqueue);
}

/* Creates the work queues; after -ENOMEM there is none. */
int overtake_workqueues_create(void)
{
	overtake_workqueue = alloc_workqueue("overtake", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	overtake_high_workqueue = alloc_workqueue("overtake-high",
						  WQ_MEM_RECLAIM | WQ_UNBOUND | WQ_HIGHPRI, 0);
	overtake_free_workqueue = alloc_workqueue("overtake-free", WQ_UNBOUND, 0);
	if (overtake_workqueue && overtake_high_workqueue && overtake_free_workqueue)
		return 0;
	overtake_workqueues_destroy();
	return -ENOMEM;
}
