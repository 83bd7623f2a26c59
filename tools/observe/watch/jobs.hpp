// SPDX-License-Identifier: MIT
//
// Jobs: the known facts about the job of an event. Most events only name the job; job_queue
// describes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "overtake/event.hpp"

namespace overtake::watch {

/// One job while it lives. Times are device time in nanoseconds; 0: has not happened.
struct Job {
    std::uint64_t queued_ns = 0;
    std::uint64_t start_ns = 0; ///< when its first FC began
    std::uint64_t end_ns = 0;
    std::uint64_t model = 0;
    std::uint32_t priority = 0;
    std::uint32_t pid = 0;
    std::uint32_t preemptions = 0;
    std::int32_t status = 0;
    bool has_parts = false; ///< the job has parts on several cores
};

class Jobs {
public:
    /// Jobs whose end was not seen yet; the oldest are forgotten.
    static constexpr std::size_t most_jobs = 1u << 18;

    /// Returns the known facts about the event's job, including those of this event. Null if the
    /// job was queued before the first event, or if the event is not about a job. The result is
    /// valid until the next call; by then, a job that is over is forgotten.
    const Job* follow(const Event& event);
    std::size_t living() const noexcept { return jobs_.size(); }
    /// Returns the processes of the jobs that live.
    std::vector<std::uint32_t> processes() const;
    /// Forgets the jobs of processes that have ended: the events of their ends were lost.
    void forget(const std::set<std::uint32_t>& pids);
    /// Returns how many jobs were forgotten to make room for others.
    std::uint64_t dropped() const noexcept { return dropped_; }

private:
    using Key = std::tuple<std::uint64_t, std::uint32_t, std::uint64_t>; ///< client, context, tag
    std::map<Key, Job> jobs_;
    std::optional<Key> over_;
    std::uint64_t dropped_ = 0;
};

/// Returns the text for Job::model: the name's beginning, or a number; empty for 0.
std::string model_name(std::uint64_t model);

/// Returns "detector (pid 812)", or the process's name alone if the model is not known.
std::string owner_name(std::uint64_t model, std::uint32_t pid);

} // namespace overtake::watch
