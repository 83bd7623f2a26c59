// SPDX-License-Identifier: MIT
//
// What scenarios with groups have to give, at both levels. Knows the keys of the contract
// (docs/reference/scenarios.md) and none of the simulator's own.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace overtake::test {

/// The timeline of a valid scenario.
nlohmann::json groups_timeline(const nlohmann::json& scenario);

} // namespace overtake::test
