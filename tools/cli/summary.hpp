// SPDX-License-Identifier: MIT
//
// The contents of a model file, as JSON. Every printed form is made from this JSON.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "overtake/model.hpp"

namespace overtake::command {

/// Returns the summary of a model; times are in microseconds, sizes in bytes.
nlohmann::ordered_json summarise(const Model& model);

/// Returns FCs, modelled time and memory on one line.
std::string one_line_summary(const nlohmann::ordered_json& summary);

} // namespace overtake::command
