// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jobs and tasks that are over: their last references are dropped in any context, and the things
 * that they hold are given back where sleeping is allowed.
 *
 * One work item of each client frees all jobs and tasks of the client, one after the other.  A
 * process may die with 65,536 tasks: a work item for each could take as many threads of a work
 * queue, among which other clients' threads would have to wait for their turn.
 */
#include "overtake_client.h"
#include "overtake_free.h"
#include "overtake_workqueues.h"

/* May sleep. */
void overtake_free_all(struct llist_node *list)
{
	struct overtake_garbage *garbage, *next;

	llist_for_each_entry_safe(garbage, next, list, node) {
		garbage->free(garbage);
		cond_resched();
	}
}

static void free_work(struct work_struct *work)
{
	struct overtake_client *client = container_of(work, struct overtake_client, free_work);

	overtake_free_all(llist_del_all(&client->garbage));
	overtake_client_put(client);
}

void overtake_free_soon(struct overtake_client *client, struct overtake_garbage *garbage,
			void (*free)(struct overtake_garbage *garbage))
{
	garbage->free = free;
	if (!llist_add(&garbage->node, &client->garbage))
		return; /* the work item is queued, and has not taken the list */
	overtake_client_get(client); /* the work item's */
	if (!queue_work(overtake_free_workqueue, &client->free_work))
		overtake_client_put(client); /* not the last: @garbage holds the client */
}

void overtake_free_init_client(struct overtake_client *client)
{
	init_llist_head(&client->garbage);
	INIT_WORK(&client->free_work, free_work);
}
