// SPDX-License-Identifier: MIT
//
// The scheduling contract at task level (docs/reference/scenarios.md, "The task scheduler"),
// written down a second time and as plainly as possible: the oracle computes the state of a queue,
// a slot or a gap anew from the tasks each time. It shares no code with the task scheduler.
#pragma once

#include "task_scenario.hpp"

namespace overtake::test {

TaskTimeline task_oracle_timeline(const TaskScenario& scenario);

} // namespace overtake::test
