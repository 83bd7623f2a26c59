// SPDX-License-Identifier: MIT
//
// What there is to say of a model file, as JSON: the one source of every printed form.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "overtake/model.hpp"

namespace overtake::command {

/// Of a model; times in microseconds, sizes in bytes.
nlohmann::ordered_json summarise(const Model& model);

/// FCs, modelled time and memory on one line.
std::string one_line_summary(const nlohmann::ordered_json& summary);

} // namespace overtake::command
