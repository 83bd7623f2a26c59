// SPDX-License-Identifier: MIT
//
// Comparison of a scenario with the same scenario under other settings.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "simulator/settings.hpp"
#include "simulator/summary.hpp"

namespace overtake::simulator {

/// Sets a key as apply_setting() does. NAME.KEY sets a key of the model NAME, or of each load, job
/// or task whose id, class or model is NAME. `max_time_per_fc`, in us, also splits the FCs that
/// jobs and loads list themselves. Throws Error (EINVAL) if nothing of that name can be changed.
void apply_what_if(nlohmann::json& document, const Setting& setting);

/// Return latencies and SLOs of each class: before, after, and the difference.
std::string what_if_text(const Summary& before, const Summary& after);
nlohmann::ordered_json what_if_json(const Summary& before, const Summary& after);

} // namespace overtake::simulator
