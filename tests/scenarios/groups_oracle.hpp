// SPDX-License-Identifier: MIT
//
// The timelines that scenarios with groups must have, at both levels. The oracle knows the keys of
// the contract (docs/reference/scenarios.md), and none that only the simulator has.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace overtake::test {

/// Returns the timeline of a valid scenario.
nlohmann::json groups_timeline(const nlohmann::json& scenario);

} // namespace overtake::test
