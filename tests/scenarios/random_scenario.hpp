// SPDX-License-Identifier: MIT
//
// Random valid scenarios: small times, so that many events are in one instant, and numbers near the
// thresholds of the contract. A seed gives the same scenario on every machine.
#pragma once

#include <cstdint>
#include <functional>

#include <nlohmann/json_fwd.hpp>

namespace overtake::test {

/// Called with a scenario that has all but its cancels and deaths, which take most of the time to
/// draw.  It may change the scenario.  If it returns false, the scenario is null.  If it sets
/// "deaths", none are drawn.
using IsWanted = std::function<bool(nlohmann::json&)>;

/// Some scenarios are fair; with `all_fair`, all scenarios are.
nlohmann::json random_fc_scenario(std::uint64_t seed, bool all_fair = false);
nlohmann::json random_task_scenario(std::uint64_t seed, bool all_fair = false,
                                    const IsWanted& wanted = {});
/// Several processes share a queue, or not; CPU segments may be overdue, places kept, processes
/// die.
nlohmann::json random_service_scenario(std::uint64_t seed, const IsWanted& wanted = {});
/// Adds changes of core limits to one scenario in three, for tests that can change limits.
void put_random_limits(nlohmann::json& scenario, std::uint64_t seed);

} // namespace overtake::test
