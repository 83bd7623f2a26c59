/* SPDX-License-Identifier: GPL-2.0-only */
/* The limits of a client, and the calls that they make fail.  See overtake_limits.c. */
#ifndef OVERTAKE_LIMITS_H
#define OVERTAKE_LIMITS_H

#include "overtake_drv.h"
#include "host/job_rules.h"

int overtake_refuse(struct overtake_client *client, u32 limit, int error);
int overtake_judge(struct overtake_client *client, struct ovt_verdict verdict);
int overtake_query_limits(struct overtake_client *client, struct drm_overtake_query *args);

#endif
