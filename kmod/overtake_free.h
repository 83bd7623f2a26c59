/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory that is freed where sleeping is allowed.  See overtake_free.c. */
#ifndef OVERTAKE_FREE_H
#define OVERTAKE_FREE_H

#include <linux/llist.h>

#include "overtake_drv.h"

void overtake_free_init_client(struct overtake_client *client);
void overtake_free_all(struct llist_node *list);

/* Any context, also under the device lock; @free is called once, and may sleep. */
void overtake_free_soon(struct overtake_client *client, struct overtake_garbage *garbage,
			void (*free)(struct overtake_garbage *garbage));

#endif
