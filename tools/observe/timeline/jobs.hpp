// SPDX-License-Identifier: MIT
//
// The jobs of a timeline, and where HIGH FCs preempted them.
#pragma once

#include <cstdint>
#include <vector>

#include "observe/timeline/timeline.hpp"

namespace overtake::timeline {

/// The FCs of one job, or of one part of a group, in order of time. If the index of an FC does not
/// grow, another job of the same tag begins.
struct Job {
    std::vector<const Fc*> fcs;
    /// Positions in `fcs`, ascending: HIGH FCs went ahead of the FC at this position after the FC
    /// before it had ended.
    std::vector<std::size_t> preempted_before{};
};

/// Returns the jobs, which point into `timeline`, by the start of their first FC. A preemption with
/// tag 0 belongs to the NORMAL job that waited on its core at its time. A preemption for which no
/// recorded job waited is left out.
std::vector<Job> jobs_of(const Timeline& timeline);

} // namespace overtake::timeline
