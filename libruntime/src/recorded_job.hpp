// SPDX-License-Identifier: MIT
//
// Recorded jobs: the rules for recordings and replays of a queue, as refusal.hpp has them for jobs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "overtake/device.hpp"
#include "refusal.hpp"

extern "C" {
#include "host/record_rules.h"
}

namespace overtake {

/// The part of a recording that a queue keeps to check replays.
struct RecordedJob {
    explicit RecordedJob(const Job& job);

    std::uint32_t bound = 0;   ///< regions that the recording binds, one bit each
    std::uint32_t fc_count;    ///< of all parts together
    std::vector<u32> part_fcs; ///< of a group: the FCs of each part
};

/// Returns the part of a job that is recorded: FCs, parts, stages, model, scratch memory and the
/// given bindings.
Job recorded_part(const Job& job);
/// Returns a replay as a job without FCs, for the texts about it.
Job job_of(const Replay& replay);
/// Returns a job as a replay, without the cores of its parts.  All its bindings become the
/// replay's.
Replay replay_from(const Job& job, std::uint32_t recording);
/// Returns a replay in the form of the device's interface, like submission(); without part_cores.
drm_overtake_replay replay_of(const Replay& replay);
drm_overtake_record record_of(const Job& job, unsigned instances);
/// Returns the fields of a replay that concern the parts of a group, in the form of the device's
/// interface.
overtake_extension_replay_parts parts_of(const Replay& replay, const RecordedJob& recorded);
bool says_parts(const Replay& replay);

/// Checks all rules for a recording except the limit on their number.
ovt_verdict check_recording(const Job& job, unsigned instances, const JobBounds& bounds,
                            const FindMemory& find_memory);
/// Checks the rules for a replay that need no recording.
ovt_verdict check_replay(const Replay& replay, const JobBounds& bounds);
/// Checks the other rules for a replay, except those on other jobs in flight.
ovt_verdict check_replay_of(const RecordedJob& recorded, const Replay& replay,
                            const JobBounds& bounds, const FindMemory& find_memory);

/// "recording: fcs[7].insn_count is 0"
std::string recording_refusal_text(const ovt_verdict& verdict, const Job& job, unsigned instances,
                                   const JobBounds& bounds, std::uint64_t used);
/// "job 3: all instances of recording 2 are in flight: reap first".  `recorded`: null if the queue
/// has no such recording.
std::string replay_refusal_text(const ovt_verdict& verdict, const Replay& replay,
                                const RecordedJob* recorded, const JobBounds& bounds);

} // namespace overtake
