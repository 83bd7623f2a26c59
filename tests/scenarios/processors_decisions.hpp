// SPDX-License-Identifier: MIT
//
// What holds of the decisions behind a timeline of several processors: nothing that could go on
// waits, what waits too long is dropped, and what stands behind does not go first.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace overtake::test {

/// One sentence for each violation.
std::vector<std::string> processors_decision_violations(const nlohmann::json& scenario,
                                                        const nlohmann::json& timeline);

} // namespace overtake::test
