/* SPDX-License-Identifier: GPL-2.0-only */
/* Groups: the parts of a job that runs on several cores.  See overtake_group.c. */
#ifndef OVERTAKE_GROUP_H
#define OVERTAKE_GROUP_H

#include "overtake_job.h"

/**
 * struct overtake_group - the parts of a job
 * @fw: the firmware's part of the group
 * @own_stages: memory of @stages and @stage_fcs; NULL: that memory belongs to a recording
 * @stages: the stage of each FC of the job
 * @stage_fcs: number of FCs of each stage; behind @stages in the same memory
 * @record_address: device address at which the client wants a record, or 0
 * @record: that record, inside one of the job's mappings, or NULL
 * @parts: the firmware's view of each part
 */
struct overtake_group {
	struct ovt_fw_group fw;
	u32 *own_stages;
	u32 *stages;
	u32 *stage_fcs;
	u64 record_address;
	void *record;
	struct ovt_fw_part parts[];
};

/* Returns the index of @part in its job, from 0. */
static inline u32 overtake_part_index(const struct ovt_fw_part *part)
{
	const struct ovt_fw_group *group = part->job->group;

	return group ? part - group->parts : 0;
}

int overtake_group_parse(struct overtake_job *job, const struct drm_overtake_submit *args,
			 const struct overtake_extension_parts __user *user);
int overtake_group_parse_of_task(struct overtake_job *job, const struct drm_overtake_submit *args,
				 const struct overtake_segment_parts *parts);
int overtake_group_parse_replay(struct overtake_job *job,
				const struct overtake_extension_replay_parts __user *user);
struct overtake_group *overtake_group_clone(const struct overtake_group *group);
void overtake_group_reset(struct overtake_job *job, const struct overtake_group *group);
void overtake_group_write_record(const struct overtake_group *group);
void overtake_group_free(struct overtake_group *group);

#endif
