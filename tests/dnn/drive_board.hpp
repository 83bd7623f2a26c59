// SPDX-License-Identifier: MIT
//
// Runs a task-level scenario through the C interface of board programs, on a device whose clock is
// stepped by hand.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "backends.hpp"
#include "board_process.hpp"
#include "overtake/device.hpp"
#include "overtake/service.hpp"
#include "task_scenario.hpp"

namespace overtake::test {

/// Whether the interface can express the scenario: no core above 2, no deadlines, no more tasks of
/// a process than it allows, and no death of a process.
bool board_can_say(const TaskScenario& scenario);

/// The settings of a device's service mode for the scenario.
ServiceSettings service_settings_of(const TaskScenario& scenario);

/// Makes process `number` of the scenario.
using MakeProcess = std::function<std::unique_ptr<BoardProcess>(std::uint64_t number)>;

/// Runs the scenario as drive_tasks() does; `clock` steps the device that all processes use.
TaskTimeline drive_board(ManualClock& clock, const TaskScenario& scenario,
                         const TaskTimeline& expected, const MakeProcess& make_process,
                         const std::function<std::vector<FcRecord>()>& take_fcs);

/// Runs all processes inside this one, on a device that this process makes for the scenario.
TaskTimeline drive_board_made_here(const TaskScenario& scenario, const TaskTimeline& expected,
                                   const Backend& backend = {"embedded"});

/// Runs the scenario on a device server made for it; each process of the scenario is a process of
/// its own with a connection of its own.  They use service mode if the scenario asks for it.
TaskTimeline drive_board_served(const TaskScenario& scenario, const TaskTimeline& expected);

} // namespace overtake::test
