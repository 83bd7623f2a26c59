/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What a client may ask of several cores at once: the rules of jobs with parts, as job_rules.h has
 * those of all jobs.  Pure functions, each with the reason and, where there are several of a kind,
 * the index of what is wrong.
 */
#ifndef OVT_HOST_GROUP_RULES_H
#define OVT_HOST_GROUP_RULES_H

#include "host/job_rules.h"

/*
 * ovt_check_group - what can be said of a group without looking at its parts
 * @open_cores: of a struct overtake_extension_placement; 0 if the job has none
 * @cores: how many the device has
 */
struct ovt_verdict ovt_check_group(const struct drm_overtake_submit *job,
				   const struct overtake_extension_parts *group, u64 open_cores,
				   u32 cores);

/*
 * ovt_check_parts - its parts, once they are a copy
 * @fc_count: of the job
 *
 * @count is 1..@cores.  Takes @count steps.
 */
struct ovt_verdict ovt_check_parts(const struct overtake_part *parts, u32 count, u32 fc_count,
				   u32 cores);

/*
 * ovt_check_parts_of_task - the same besides, of a segment of a task: the task has its cores
 *
 * Takes @count steps.
 */
struct ovt_verdict ovt_check_parts_of_task(const struct overtake_part *parts, u32 count);

/*
 * ovt_check_stages - the stages of its FCs, once they are a copy
 * @parts: as ovt_check_parts() found them right
 * @stages: one for each FC of the job
 * @stage_fcs: @stage_count numbers, which receive how many FCs each stage has
 *
 * Takes a step for each FC and each stage.
 */
struct ovt_verdict ovt_check_stages(const struct overtake_part *parts, u32 part_count,
				    const u32 *stages, u32 *stage_fcs, u32 stage_count);

/* Bytes of a struct overtake_group_record with @part_count parts. */
static inline u64 ovt_group_record_bytes(u32 part_count)
{
	return sizeof(struct overtake_group_record) +
	       (u64)part_count * sizeof(struct overtake_part_record);
}

#endif
