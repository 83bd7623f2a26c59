// SPDX-License-Identifier: MIT
//
// What overtake perf has to say of a load: as JSON, and that as text.
#pragma once

#include <vector>

#include <nlohmann/json.hpp>

#include "load/load.hpp"
#include "overtake/engine.hpp"
#include "overtake/model.hpp"

namespace overtake::command {

/// Bytes of device memory that one request of the model needs, by what is in them.
nlohmann::ordered_json memory_of(const Model& model);

/// Of one model, with what memory_of() said; times in milliseconds, sizes in bytes.
nlohmann::ordered_json perf_report(const load::Load& load, const load::Outcome& outcome,
                                   const nlohmann::ordered_json& memory);

/// Adds what each processor of an engine did in so long, if there are any.
void add_processors(nlohmann::ordered_json& json, const std::vector<ProcessorState>& processors,
                    std::int64_t lasted_ns);

/// Prints what overtake perf says as JSON.
void print_perf_reports(const nlohmann::ordered_json& json);

} // namespace overtake::command
