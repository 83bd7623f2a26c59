// SPDX-License-Identifier: MIT
//
// Rules of the decisions behind a timeline of several processors: no task that could go on waits, a
// task that is too late is dropped, and no task goes before one that is in front of it.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace overtake::test {

/// Returns one sentence for each violation.
std::vector<std::string> processors_decision_violations(const nlohmann::json& scenario,
                                                        const nlohmann::json& timeline);

} // namespace overtake::test
