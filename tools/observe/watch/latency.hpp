// SPDX-License-Identifier: MIT
//
// Latency: how long jobs waited and ran, by group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "observe/watch/jobs.hpp"
#include "observe/watch/spread.hpp"

namespace overtake::watch {

enum class Grouping { priority_and_model, priority, model, process };

class Latency {
public:
    /// The limit of counts for all groups: counts of latencies, about 50 bytes each, and 8 for each
    /// group. Above it, the groups in which no job ended for longest are dropped.
    static constexpr std::size_t most_entries = 1u << 18;

    struct Group {
        Spread wait; ///< from the queue to the start of the first FC, ns
        /// From the start of the first FC to the end, ns, including FCs that went ahead in between.
        Spread run;
        Spread total;                  ///< from the queue to the end, ns
        std::uint64_t failed = 0;      ///< jobs that failed or never started; not in the spreads
        std::uint64_t preemptions = 0; ///< preemptions of the jobs that count above
        std::uint64_t last = 0;        ///< the number of its last job among all jobs

        std::size_t entries() const { return 8 + wait.entries() + run.entries() + total.entries(); }
    };

    explicit Latency(Grouping grouping) : grouping_(grouping) {}
    /// Adds a job that is over and was seen from its beginning.
    void add(const Job& job);
    /// Returns the groups, HIGH first, then by name.
    const auto& groups() const noexcept { return groups_; }
    /// Returns the number of groups that were dropped.
    std::uint64_t dropped() const noexcept { return dropped_; }

private:
    const Grouping grouping_;
    /// By 255 - priority, and name.
    std::map<std::tuple<unsigned, std::string>, Group> groups_;
    std::size_t entries_ = 0; ///< entries of all groups
    std::uint64_t jobs_ = 0;
    std::uint64_t dropped_ = 0;

    void count(Group& group, const Job& job);
};

/// Returns the name of a key of groups(): "priority 255", "priority 255, detector".
std::string group_name(Grouping grouping, const std::tuple<unsigned, std::string>& key);

} // namespace overtake::watch
