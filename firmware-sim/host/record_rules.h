/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What a client may record, and how it may replay it: the rules beside job_rules.h.  A recording
 * is looked at as a submission is, and so is a replay: what one of the two does not say, the other
 * does.  Pure functions.
 */
#ifndef OVT_HOST_RECORD_RULES_H
#define OVT_HOST_RECORD_RULES_H

#include "host/job_rules.h"

/* The submission that a recording is, but for what a replay says. */
struct drm_overtake_submit ovt_submit_of_record(const struct drm_overtake_record *record);

/* The submission that a replay is, but for what the recording says: one FC and one binding. */
struct drm_overtake_submit ovt_submit_of_replay(const struct drm_overtake_replay *replay);

/* What can be said without looking anything up; @cores: how many the device has. */
struct ovt_verdict ovt_check_record(const struct drm_overtake_record *record, u32 cores);
struct ovt_verdict ovt_check_replay(const struct drm_overtake_replay *replay, u32 cores);

/*
 * ovt_check_replay_cores - the cores of a replay, once its recording is known
 * @parts: of a group, 0 if it is none
 * @open_cores: of a struct overtake_extension_placement; 0 if the replay has none
 */
struct ovt_verdict ovt_check_replay_cores(const struct drm_overtake_replay *replay, u32 parts,
					  u64 open_cores);

/*
 * ovt_check_replay_parts - the parts of a group that is replayed
 * @count: of its parts, as recorded
 */
struct ovt_verdict ovt_check_replay_parts(const struct overtake_extension_replay_parts *parts,
					  u32 count);

#endif
