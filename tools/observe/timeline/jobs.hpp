// SPDX-License-Identifier: MIT
//
// The jobs of a timeline, and where they were preempted.
#pragma once

#include <cstdint>
#include <vector>

#include "observe/timeline/timeline.hpp"

namespace overtake::timeline {

/// FCs of one job, or of one part of a group, in order of time. A job that begins anew under the
/// same tag (its index does not grow) is another one.
struct Job {
    std::vector<const Fc*> fcs;
    /// Positions in fcs, ascending: HIGH FCs went ahead of that FC after the one before it had
    /// ended.
    std::vector<std::size_t> preempted_before{};
};

/// By the start of their first FC. They point into `timeline`. A preemption whose tag is 0 is that
/// of the NORMAL job that waited on its core at its time; one that no recorded job waited for is
/// left out.
std::vector<Job> jobs_of(const Timeline& timeline);

} // namespace overtake::timeline
