// SPDX-License-Identifier: MIT
//
// Rules that hold for every timeline of several processors, with any policy.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace overtake::test {

/// Returns one sentence for each violation.
std::vector<std::string> processors_violations(const nlohmann::json& scenario,
                                               const nlohmann::json& timeline);

} // namespace overtake::test
