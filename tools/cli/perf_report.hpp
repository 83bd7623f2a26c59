// SPDX-License-Identifier: MIT
//
// What overtake perf has to say of a load: as JSON, and that as text.
#pragma once

#include <nlohmann/json.hpp>

#include "load/load.hpp"
#include "overtake/model.hpp"

namespace overtake::command {

/// Of one model; times in milliseconds, sizes in bytes.
nlohmann::ordered_json perf_report(const Model& model, const load::Load& load,
                                   const load::Outcome& outcome);

/// Prints such a report.
void print_perf_report(const nlohmann::ordered_json& report);

} // namespace overtake::command
