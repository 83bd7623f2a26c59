// SPDX-License-Identifier: MIT
//
// Runs a task-level scenario through the C interface on the real clock: engines with their own
// threads, CPU segments that sleep, an embedded device in timed mode.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "task_scenario.hpp"

namespace overtake::test {

/// The lateness of a host up to which for_clock() keeps an order the same.
constexpr std::uint64_t lateness_us = 20'000;

/// The orders that must not depend on the host: of the FCs of each core, and of dispatched tasks.
struct ScenarioOrder {
    std::vector<std::vector<std::string>> fcs; ///< by core, from 1 on
    std::vector<std::string> dispatched;
    std::vector<std::string> cancelled; ///< in file order
    bool operator==(const ScenarioOrder&) const = default;
};

ScenarioOrder order_of(const TaskTimeline& timeline);

/// A scenario whose times, except estimates and deadlines, are `factor` times as long.
struct ClockScenario {
    TaskScenario scenario;
    std::uint64_t factor;
    bool apart; ///< arrivals are moved apart, in file order
};

/// Makes the scenario longer until its order stays the same when arrivals, cancels and ends of CPU
/// segments are late by up to `lateness_us`, as far as 256 random trials can tell.  Returns none if
/// it would last longer than `longest_us`: some scenarios are about what happens at one instant.
std::optional<ClockScenario> for_clock(const TaskScenario& scenario, std::uint64_t longest_us);

/// Runs the scenario and returns its order.  Returns none if the host was late by more than half of
/// `lateness_us`: then the order proves nothing.
std::optional<ScenarioOrder> drive_board_clock(const TaskScenario& scenario);

} // namespace overtake::test
