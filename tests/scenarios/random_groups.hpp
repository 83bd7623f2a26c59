// SPDX-License-Identifier: MIT
//
// Random valid scenarios with groups. Times are small multiples of one unit, so that many events
// are in one instant.
#pragma once

#include <cstdint>

#include <nlohmann/json_fwd.hpp>

namespace overtake::test {

/// Returns a scenario with tasks if `task_level`, else with jobs. The same seed and level give the
/// same scenario on every machine.
nlohmann::json random_groups(std::uint64_t seed, bool task_level);

} // namespace overtake::test
