// SPDX-License-Identifier: MIT
//
// Runs a scenario with several processors through the runtime's coordinator: cores are those of an
// embedded device whose clock is stepped by hand, pools are simulated.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace overtake::test {

/// Removes the scenario's keys that a device does not have: the lead before a run, and `measured`
/// times.
nlohmann::json without_leads(nlohmann::json scenario);

/// Returns `runs` and `tasks` of a scenario without leads, up to `horizon`.  Runs are in the order
/// of their tasks.  Throws Error.
nlohmann::json drive_processors(const nlohmann::json& scenario, std::uint64_t horizon);

} // namespace overtake::test
