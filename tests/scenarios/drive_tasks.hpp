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

/// The device: mode timed, profile ideal, manual clock, the scenario's cores, limits and fairness.
/// Time is stepped to what is asked for, to the ends of CPU segments and to those ends of FCs that
/// `expected` knows: a scheduler that goes another way is looked at too late, and differs.
/// `take_fcs` is called once, when everything has happened, and returns the FCs that ran.
/// Throws Error; std::invalid_argument for service mode, which needs a queue of all processes.
TaskTimeline drive_tasks(Device& device, const TaskScenario& scenario, const TaskTimeline& expected,
                         const std::function<std::vector<FcRecord>()>& take_fcs);

/// The whole on a device made for the scenario: embedded, or of a server.
TaskTimeline drive_tasks_made_here(const TaskScenario& scenario, const TaskTimeline& expected,
                                   const Backend& backend = {"embedded"});

} // namespace overtake::test
