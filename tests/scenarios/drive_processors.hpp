// SPDX-License-Identifier: MIT
//
// Runs a scenario with several processors through the runtime's coordinator: cores are those of an
// embedded device whose clock is stepped by hand, pools are simulated.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace overtake::test {

/// What a device does not have, a lead in front of a run and records that were measured before, is
/// taken out of the scenario.
nlohmann::json without_leads(nlohmann::json scenario);

/// `runs` and `tasks` of a scenario without leads; `horizon`: nothing happens later.  Runs are in
/// the order of their tasks.  Throws Error.
nlohmann::json drive_processors(const nlohmann::json& scenario, std::uint64_t horizon);

} // namespace overtake::test
