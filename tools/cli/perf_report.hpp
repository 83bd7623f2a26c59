// SPDX-License-Identifier: MIT
//
// The report of overtake perf on a load: as JSON, and as text made from the JSON.
#pragma once

#include <vector>

#include <nlohmann/json.hpp>

#include "load/load.hpp"
#include "overtake/engine.hpp"
#include "overtake/model.hpp"

namespace overtake::command {

/// Returns the device memory that one request of the model needs, in bytes: an object with
/// `program`, `weights`, `scratch` and `inputs_and_outputs`.
nlohmann::ordered_json memory_of(const Model& model);

/// Returns the report on one model, with the result of memory_of(). Times are in milliseconds,
/// sizes in bytes.
nlohmann::ordered_json perf_report(const load::Load& load, const load::Outcome& outcome,
                                   const nlohmann::ordered_json& memory);

/// Adds the work of each processor of an engine in `lasted_ns`, if there are any processors.
void add_processors(nlohmann::ordered_json& json, const std::vector<ProcessorState>& processors,
                    std::int64_t lasted_ns);

/// Prints the JSON of overtake perf as text.
void print_perf_reports(const nlohmann::ordered_json& json);

} // namespace overtake::command
