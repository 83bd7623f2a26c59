/* SPDX-License-Identifier: GPL-2.0-only */
/* Replays of one system call, handed to the device together.  See overtake_plug.c. */
#ifndef OVERTAKE_PLUG_H
#define OVERTAKE_PLUG_H

#include <linux/types.h>

struct overtake_client;
struct overtake_job;

bool overtake_plug_add(struct overtake_job *job);
void overtake_plug_flush_all(struct overtake_client *client);
void overtake_plug_flush(struct overtake_client *client);
void overtake_plug_init_client(struct overtake_client *client);

#endif
