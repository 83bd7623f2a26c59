// SPDX-License-Identifier: MIT
//
// CoreCounter: the unfinished FCs of each core, counted anew from the jobs at each call.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "scheduler/job.hpp"

namespace overtake::fuzz {

class CoreCounter {
public:
    /// `jobs`: all jobs, in the order in which they were submitted.
    explicit CoreCounter(const std::deque<Job>& jobs) : jobs_(jobs) {}

    /// Returns the FCs on a core (from 1) that have not ended, with jobs on their way to it.
    std::uint64_t unfinished(std::uint32_t core) {
        while (oldest_ < jobs_.size() && jobs_[oldest_].device.state == OVT_JOB_ENDED)
            oldest_++;
        std::uint64_t count = 0;
        for (std::size_t i = oldest_; i < jobs_.size(); i++) {
            const ovt_fw_job& job = jobs_[i].device;
            if (job.state == OVT_JOB_NEW && job.core == core)
                count += job.fc_count;
            else if (job.state == OVT_JOB_QUEUED && job.placed_core == core)
                count += (job.cancelled != 0 ? job.started : job.fc_count) - job.done;
        }
        return count;
    }

    /// Returns the core in a mask (bit k - 1 for core k) with the fewest unfinished FCs, the first
    /// on a tie.
    std::uint32_t emptiest(std::uint64_t cores) {
        std::uint32_t best = 0;
        for (; cores != 0; cores &= cores - 1) {
            const auto core = static_cast<std::uint32_t>(std::countr_zero(cores)) + 1;
            if (best == 0 || unfinished(core) < unfinished(best))
                best = core;
        }
        return best;
    }

private:
    const std::deque<Job>& jobs_;
    std::size_t oldest_ = 0; ///< all jobs before this one have ended
};

} // namespace overtake::fuzz
