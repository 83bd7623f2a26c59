// SPDX-License-Identifier: MIT
//
// What if: compares a scenario with the same one under other settings.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "simulator/settings.hpp"
#include "simulator/summary.hpp"

namespace overtake::simulator {

/// Sets a key as apply_setting() does, or NAME.KEY of the model, class, load, job or task NAME, of
/// each that is called so. `max_time_per_fc`, in us, also splits the FCs that jobs and loads list
/// themselves. Throws Error (EINVAL) if there is nothing of that name.
void apply_what_if(nlohmann::json& document, const Setting& setting);

/// Return latencies and SLOs of each class: before, after, and the difference.
std::string what_if_text(const Summary& before, const Summary& after);
nlohmann::ordered_json what_if_json(const Summary& before, const Summary& after);

} // namespace overtake::simulator
