// SPDX-License-Identifier: MIT
//
// Random valid scenarios: small times, so that many things happen at one instant, and numbers near
// the thresholds of the contract.  One seed gives one scenario, on every machine.
#pragma once

#include <cstdint>
#include <functional>

#include <nlohmann/json_fwd.hpp>

namespace overtake::test {

/// Asked of a scenario that has all but its cancels and deaths, which take most of the time to
/// draw, and may change it; if it says no, the scenario is null.  Where it sets "deaths", none are
/// drawn.
using IsWanted = std::function<bool(nlohmann::json&)>;

/// Some are fair, or all.
nlohmann::json random_fc_scenario(std::uint64_t seed, bool all_fair = false);
nlohmann::json random_task_scenario(std::uint64_t seed, bool all_fair = false,
                                    const IsWanted& wanted = {});
/// Several processes share a queue, or not; CPU segments may be overdue, places kept, processes
/// die.
nlohmann::json random_service_scenario(std::uint64_t seed, const IsWanted& wanted = {});
/// Changes of core limits for one scenario in three; for what runs scenarios with that key.
void put_random_limits(nlohmann::json& scenario, std::uint64_t seed);

} // namespace overtake::test
