/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory of jobs: creation, references, freeing.  See overtake_job_memory.c. */
#ifndef OVERTAKE_JOB_MEMORY_H
#define OVERTAKE_JOB_MEMORY_H

#include "overtake_client.h"
#include "overtake_job.h"

struct overtake_job *overtake_job_create(struct drm_file *file,
					 const struct drm_overtake_submit *args);
struct overtake_job *overtake_job_create_for_task(struct overtake_context *context,
						  const struct drm_overtake_submit *args,
						  const struct overtake_segment_parts *parts);
int overtake_job_fill_recording(struct overtake_job *job, struct drm_file *file,
				const struct drm_overtake_submit *args, u32 *bound);
int overtake_job_fill_replay(struct overtake_job *job, struct drm_file *file,
			     const struct drm_overtake_submit *args, u32 binding_count, u32 bound);
int overtake_job_add_scratch(struct overtake_job *job, u32 bytes);
int overtake_job_prepare_uses(struct overtake_job *job);
void overtake_job_init(struct overtake_job *job, struct overtake_context *context,
		       const struct drm_overtake_submit *args);
struct overtake_job *overtake_job_alloc(struct overtake_context *context,
					const struct drm_overtake_submit *args);
void overtake_job_let_go(struct overtake_job *job, u32 kept);
void overtake_job_free(struct overtake_job *job);
void overtake_job_put(struct overtake_job *job);
void overtake_job_put_sleeping(struct overtake_job *job);
void overtake_job_end_access(struct overtake_job *job);

static inline void overtake_job_get(struct overtake_job *job)
{
	kref_get(&job->ref);
}

/* Charges @bytes to the client of @job; they are given back with the job's memory. */
static inline int overtake_job_charge(struct overtake_job *job, u64 bytes)
{
	int ret = overtake_client_charge(job->context->client, bytes);

	if (!ret)
		job->charged_bytes += bytes;
	return ret;
}

#endif
