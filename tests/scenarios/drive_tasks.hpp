// SPDX-License-Identifier: MIT
//
// Runs a task-level scenario through the runtime's scheduler, one for each process, on a device
// whose clock is stepped by hand.
#pragma once

#include <functional>

#include "backends.hpp"
#include "overtake/device.hpp"
#include "task_scenario.hpp"

namespace overtake::test {

/// `device` has mode timed, profile ideal, a manual clock, and the scenario's cores, limits and
/// fairness.
/// The clock is stepped to arrivals and cancels, to the ends of CPU segments and to the ends of FCs
/// in `expected`: a scheduler that decides otherwise is stepped too late, and its timeline differs.
/// `take_fcs` is called once, after the last event, and returns the FCs that ran.
/// Throws Error; std::invalid_argument for service mode, which needs a queue of all processes.
TaskTimeline drive_tasks(Device& device, const TaskScenario& scenario, const TaskTimeline& expected,
                         const std::function<std::vector<FcRecord>()>& take_fcs);

/// Runs the scenario on a device made for it: embedded, or of a server.
TaskTimeline drive_tasks_made_here(const TaskScenario& scenario, const TaskTimeline& expected,
                                   const Backend& backend = {"embedded"});

} // namespace overtake::test
