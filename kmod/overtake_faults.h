/* SPDX-License-Identifier: GPL-2.0-only */
/* Contexts whose jobs do harm.  See overtake_faults.c. */
#ifndef OVERTAKE_FAULTS_H
#define OVERTAKE_FAULTS_H

#include "overtake_drv.h"

struct overtake_job;

void overtake_offence_init(struct overtake_context *context);
void overtake_offence_locked(struct overtake_job *job, u32 fault, u64 lost_ns, u64 now_ns);

#endif
