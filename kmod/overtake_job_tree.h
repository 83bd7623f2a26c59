/* SPDX-License-Identifier: GPL-2.0-only */
/* Jobs by tag and by deadline.  See overtake_job_tree.c. */
#ifndef OVERTAKE_JOB_TREE_H
#define OVERTAKE_JOB_TREE_H

#include "overtake_job.h"

/* All of these are called under the device lock. */
struct overtake_job *overtake_job_find_tag_locked(struct overtake_context *context, u64 tag);
struct overtake_job *overtake_job_find_from_locked(struct overtake_context *context, u64 tag);
void overtake_job_enter_tree_locked(struct overtake_job *job);
void overtake_job_leave_tree_locked(struct overtake_job *job);

void overtake_job_add_deadline_locked(struct overtake_job *job);
void overtake_job_forget_deadline_locked(struct overtake_job *job);
struct overtake_job *overtake_job_next_deadline(struct overtake_device *device);

#endif
