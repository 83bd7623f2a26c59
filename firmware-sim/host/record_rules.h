/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The rules of recordings and replays, beside those of job_rules.h.  These are pure functions.  A
 * recording is checked as a submission, and so is a replay: a recording has the fields of a
 * submission that a replay lacks, and the other way round.
 */
#ifndef OVT_HOST_RECORD_RULES_H
#define OVT_HOST_RECORD_RULES_H

#include "host/job_rules.h"

/* Returns a recording as a submission, without the fields of a replay. */
struct drm_overtake_submit ovt_submit_of_record(const struct drm_overtake_record *record);

/* Returns a replay as a submission: one FC and one binding stand for those of the recording. */
struct drm_overtake_submit ovt_submit_of_replay(const struct drm_overtake_replay *replay);

/* Check all that needs no look-up; @cores: number of cores of the device. */
struct ovt_verdict ovt_check_record(const struct drm_overtake_record *record, u32 cores);
struct ovt_verdict ovt_check_replay(const struct drm_overtake_replay *replay, u32 cores);

/*
 * ovt_check_replay_cores - check the cores of a replay, once its recording is known
 * @parts: number of parts of a group, 0 if it is no group
 * @open_cores: cores of a struct overtake_extension_placement; 0 if the replay has none
 */
struct ovt_verdict ovt_check_replay_cores(const struct drm_overtake_replay *replay, u32 parts,
					  u64 open_cores);

/*
 * ovt_check_replay_parts - check the parts of a group that is replayed
 * @count: number of its parts, as recorded
 */
struct ovt_verdict ovt_check_replay_parts(const struct overtake_extension_replay_parts *parts,
					  u32 count);

#endif
