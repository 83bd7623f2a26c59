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

/// How late a host may be that is to keep to an order.
constexpr std::uint64_t lateness_us = 20'000;

/// What must not depend on the host: the FCs of each core, and the tasks as they are dispatched.
struct ScenarioOrder {
    std::vector<std::vector<std::string>> fcs; ///< by core, from 1 on
    std::vector<std::string> dispatched;
    std::vector<std::string> cancelled; ///< in file order
    bool operator==(const ScenarioOrder&) const = default;
};

ScenarioOrder order_of(const TaskTimeline& timeline);

/// The scenario with every time `factor` times as long.
struct ClockScenario {
    TaskScenario scenario;
    std::uint64_t factor;
    bool apart; ///< tasks arrive one after the other that arrived at one instant
};

/// As little longer as it can be for its order to be the same when arrivals, cancels and ends of
/// CPU segments are late by up to `lateness_us`, as far as 256 random trials can tell.  None if it
/// would last longer than `longest_us`: some are about what happens at one instant.
std::optional<ClockScenario> for_clock(const TaskScenario& scenario, std::uint64_t longest_us);

/// None if the host was later than that, so that nothing follows from the order.
std::optional<ScenarioOrder> drive_board_clock(const TaskScenario& scenario);

} // namespace overtake::test
