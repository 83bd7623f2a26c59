// SPDX-License-Identifier: MIT
//
// Random valid scenarios with several processors: small times, so that many events are in one
// instant. A seed gives the same scenario on every machine.
#pragma once

#include <cstdint>

#include <nlohmann/json_fwd.hpp>

namespace overtake::test {

nlohmann::json random_processors_scenario(std::uint64_t seed);

} // namespace overtake::test
