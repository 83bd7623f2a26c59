/* SPDX-License-Identifier: GPL-2.0-only */
/* Extensions, which are chained to a submission.  See overtake_extension.c. */
#ifndef OVERTAKE_EXTENSION_H
#define OVERTAKE_EXTENSION_H

#include <linux/bits.h>
#include <linux/types.h>

#include "overtake_accel_task.h"

/* The extensions that a call takes, a bit for each type. */
#define OVERTAKE_EXTENSIONS_OF_JOB							\
	(BIT(OVERTAKE_EXTENSION_SYNC) | BIT(OVERTAKE_EXTENSION_PLACEMENT) |		\
	 BIT(OVERTAKE_EXTENSION_MODEL) | BIT(OVERTAKE_EXTENSION_PARTS))
#define OVERTAKE_EXTENSIONS_OF_RECORDING						\
	(BIT(OVERTAKE_EXTENSION_MODEL) | BIT(OVERTAKE_EXTENSION_PARTS))
#define OVERTAKE_EXTENSIONS_OF_REPLAY							\
	(BIT(OVERTAKE_EXTENSION_SYNC) | BIT(OVERTAKE_EXTENSION_PLACEMENT) |		\
	 BIT(OVERTAKE_EXTENSION_MODEL) | BIT(OVERTAKE_EXTENSION_REPLAY_PARTS))

struct drm_file;
struct drm_overtake_submit;
struct overtake_job;

int overtake_extensions_parse(struct overtake_job *job, struct drm_file *file,
			      const struct drm_overtake_submit *args, unsigned long types);
/**
 * struct overtake_task_extensions - the extensions of a task
 * @model: what the client calls the task's model, or 0
 * @parts: the parts of its segments, if @has_parts
 * @has_parts: OVERTAKE_EXTENSION_TASK_PARTS is in the chain
 */
struct overtake_task_extensions {
	u64 model;
	struct overtake_extension_task_parts parts;
	bool has_parts;
};

int overtake_extensions_of_task(u64 address, struct overtake_task_extensions *found);
void overtake_extensions_answer(const struct overtake_job *job);

#endif
