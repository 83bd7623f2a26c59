/* SPDX-License-Identifier: GPL-2.0-only */
/* What is chained to a submission.  See overtake_extension.c. */
#ifndef OVERTAKE_EXTENSION_H
#define OVERTAKE_EXTENSION_H

#include <linux/types.h>

struct drm_file;
struct drm_overtake_submit;
struct overtake_job;

int overtake_extensions_parse(struct overtake_job *job, struct drm_file *file,
			      const struct drm_overtake_submit *args);
int overtake_extension_of_task(u64 address, u64 *model);
void overtake_extensions_answer(const struct overtake_job *job);

#endif
