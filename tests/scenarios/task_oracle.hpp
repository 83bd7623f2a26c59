// SPDX-License-Identifier: MIT
//
// The scheduling contract at task level (T1 to T9), written down a second time and as plainly as
// possible: what is true of a queue, a slot or a gap is worked out anew at each question, from the
// tasks.  Shares no code with the task scheduler.
#pragma once

#include "task_scenario.hpp"

namespace overtake::test {

TaskTimeline task_oracle_timeline(const TaskScenario& scenario);

} // namespace overtake::test
