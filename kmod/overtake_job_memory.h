/* SPDX-License-Identifier: GPL-2.0-only */
/* Jobs as memory: made, referenced, freed.  See overtake_job_memory.c. */
#ifndef OVERTAKE_JOB_MEMORY_H
#define OVERTAKE_JOB_MEMORY_H

#include "overtake_job.h"

struct overtake_job *overtake_job_create(struct drm_file *file,
					 const struct drm_overtake_submit *args);
struct overtake_job *overtake_job_create_for_task(struct overtake_context *context,
						  const struct drm_overtake_submit *args);
int overtake_job_charge(struct overtake_job *job, u64 bytes);
void overtake_job_get(struct overtake_job *job);
void overtake_job_put(struct overtake_job *job);
void overtake_job_put_sleeping(struct overtake_job *job);
void overtake_job_end_access_soon(struct overtake_job *job);

#endif
