// SPDX-License-Identifier: MIT
//
// Latency: how long jobs waited and ran, by what they are.
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
    /// Of all groups: counts of latencies, some 50 bytes each, and a few for a group itself.
    /// Beyond it, groups are dropped that no job was in for longest.
    static constexpr std::size_t most_entries = 1u << 18;

    struct Group {
        Spread wait;              ///< from the queue to the start of the first FC, ns
        Spread run;               ///< from there to the end, ns: with what went ahead in between
        Spread total;             ///< from the queue to the end, ns
        std::uint64_t failed = 0; ///< not in the above
        std::uint64_t preemptions = 0; ///< of those in the above
        std::uint64_t last = 0;        ///< its last job's number among all

        std::size_t entries() const { return 8 + wait.entries() + run.entries() + total.entries(); }
    };

    explicit Latency(Grouping grouping) : grouping_(grouping) {}
    /// `job` is over, and was seen from its beginning.
    void add(const Job& job);
    /// By what people call them, HIGH first.
    const auto& groups() const noexcept { return groups_; }
    /// Groups that are not there any more.
    std::uint64_t dropped() const noexcept { return dropped_; }

private:
    const Grouping grouping_;
    /// 255 - priority, name
    std::map<std::tuple<unsigned, std::string>, Group> groups_;
    std::size_t entries_ = 0; ///< of all groups
    std::uint64_t jobs_ = 0;
    std::uint64_t dropped_ = 0;

    void count(Group& group, const Job& job);
};

/// "priority 255", "priority 255, detector": what a key of groups() is called.
std::string group_name(Grouping grouping, const std::tuple<unsigned, std::string>& key);

} // namespace overtake::watch
