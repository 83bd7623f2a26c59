// SPDX-License-Identifier: MIT
//
// The first difference of two timelines.
#pragma once

#include <optional>
#include <string>

#include "task_scenario.hpp"

namespace overtake::test {

/// Returns the first entry in which `actual` is not as expected, on one line, or nothing.
std::optional<std::string> first_difference(const TaskTimeline& actual,
                                            const TaskTimeline& expected);

} // namespace overtake::test
