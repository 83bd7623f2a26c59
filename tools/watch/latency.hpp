// SPDX-License-Identifier: MIT
//
// Latency: how long jobs waited and ran, by what they are.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "watch/jobs.hpp"
#include "watch/spread.hpp"

namespace overtake::watch {

enum class Grouping { priority_and_model, priority, model, process };

class Latency {
public:
    struct Group {
        Spread wait;              ///< from the queue to the start of the first FC, ns
        Spread run;               ///< from there to the end, ns: with what went ahead in between
        Spread total;             ///< from the queue to the end, ns
        std::uint64_t failed = 0; ///< not in the above
        std::uint64_t preemptions = 0; ///< of those in the above
    };

    explicit Latency(Grouping grouping) : grouping_(grouping) {}
    /// `job` is over, and was seen from its beginning.
    void add(const Job& job);
    /// By what people call them, HIGH first.
    const auto& groups() const noexcept { return groups_; }

private:
    const Grouping grouping_;
    /// 255 - priority, name
    std::map<std::tuple<unsigned, std::string>, Group> groups_;
};

/// "priority 255", "priority 255, detector": what a key of groups() is called.
std::string group_name(Grouping grouping, const std::tuple<unsigned, std::string>& key);

} // namespace overtake::watch
