// SPDX-License-Identifier: MIT
//
// Scheduling over several processors (the key `processors` of a scenario), written down a second
// time and as plainly as possible: tests compare the simulator and the runtime with this oracle. It
// shares no code with them.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace overtake::test {

/// Returns the timeline of a valid scenario without loads.
nlohmann::json processors_timeline(const nlohmann::json& scenario);

/// Returns the JSON as text: one record a line, keys in their usual order.
std::string processors_text(const nlohmann::json& scenario_or_timeline);

} // namespace overtake::test
