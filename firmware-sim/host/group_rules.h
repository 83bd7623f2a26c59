/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The rules of jobs with parts on several cores; job_rules.h has the rules of all jobs.  These are
 * pure functions.  Each returns a reason and, where a job has several parts, FCs or stages, the
 * index of the wrong one.
 */
#ifndef OVT_HOST_GROUP_RULES_H
#define OVT_HOST_GROUP_RULES_H

#include "host/job_rules.h"

/*
 * ovt_check_group - check a group without looking at its parts
 * @open_cores: cores of a struct overtake_extension_placement; 0 if the job has none
 * @cores: number of cores of the device
 */
struct ovt_verdict ovt_check_group(const struct drm_overtake_submit *job,
				   const struct overtake_extension_parts *group, u64 open_cores,
				   u32 cores);

/*
 * ovt_check_parts - check the parts of a group, once they are a copy
 * @fc_count: number of FCs of the job
 *
 * @count is 1..@cores.  Takes @count steps.
 */
struct ovt_verdict ovt_check_parts(const struct overtake_part *parts, u32 count, u32 fc_count,
				   u32 cores);

/*
 * ovt_check_parts_of_task - check besides that parts of a task's segment name no core
 *
 * Takes @count steps.
 */
struct ovt_verdict ovt_check_parts_of_task(const struct overtake_part *parts, u32 count);

/*
 * ovt_check_stages - check the stages of a group's FCs, once they are a copy
 * @parts: parts that ovt_check_parts() has accepted
 * @stages: the stage of each FC of the job
 * @stage_fcs: receives the number of FCs of each of @stage_count stages
 *
 * Takes a step for each FC and each stage.
 */
struct ovt_verdict ovt_check_stages(const struct overtake_part *parts, u32 part_count,
				    const u32 *stages, u32 *stage_fcs, u32 stage_count);

/* Returns the bytes of a struct overtake_group_record with @part_count parts. */
static inline u64 ovt_group_record_bytes(u32 part_count)
{
	return sizeof(struct overtake_group_record) +
	       (u64)part_count * sizeof(struct overtake_part_record);
}

#endif
