// SPDX-License-Identifier: MIT
//
// Random valid scenarios with groups. Times are small multiples of one unit, so that many things
// happen in one instant. One seed gives one scenario, on every machine.
#pragma once

#include <cstdint>

#include <nlohmann/json_fwd.hpp>

namespace overtake::test {

nlohmann::json random_groups(std::uint64_t seed, bool task_level);

} // namespace overtake::test
