// SPDX-License-Identifier: MIT
//
// Recorded jobs: the rules by which a queue takes a recording, and a replay of it.  As refusal.hpp
// has them for jobs.
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

/// What a queue keeps of a recording to hold replays against.
struct RecordedJob {
    explicit RecordedJob(const Job& job);

    std::uint32_t bound = 0;   ///< regions that it has bound, one bit each
    std::uint32_t fc_count;    ///< of all parts together
    std::vector<u32> part_fcs; ///< of a group: of each part
};

/// What of a job is recorded: nothing that a Replay says.
Job recorded_part(const Job& job);
/// A replay as a job, without FCs: for its words.
Job job_of(const Replay& replay);
/// What a job says of one time, but for the cores of its parts.  Its bindings are all the replay's.
Replay replay_from(const Job& job, std::uint32_t recording);
/// As the device's interface has it, like submission(); of a group without its part_cores.
drm_overtake_replay replay_of(const Replay& replay);
drm_overtake_record record_of(const Job& job, unsigned instances);
/// What a replay of a group says of its parts.
overtake_extension_replay_parts parts_of(const Replay& replay, const RecordedJob& recorded);
bool says_parts(const Replay& replay);

/// Everything that does not depend on how many recordings there are.
ovt_verdict check_recording(const Job& job, unsigned instances, const JobBounds& bounds,
                            const FindMemory& find_memory);
/// What can be said before the recording is known.
ovt_verdict check_replay(const Replay& replay, const JobBounds& bounds);
/// The rest, but for what else is in flight.
ovt_verdict check_replay_of(const RecordedJob& recorded, const Replay& replay,
                            const JobBounds& bounds, const FindMemory& find_memory);

/// "recording: fcs[7].insn_count is 0"
std::string recording_refusal_text(const ovt_verdict& verdict, const Job& job, unsigned instances,
                                   const JobBounds& bounds, std::uint64_t used);
/// "job 3: all instances of recording 2 are in flight: reap first".  recorded: null if the queue
/// has no such recording.
std::string replay_refusal_text(const ovt_verdict& verdict, const Replay& replay,
                                const RecordedJob* recorded, const JobBounds& bounds);

} // namespace overtake
