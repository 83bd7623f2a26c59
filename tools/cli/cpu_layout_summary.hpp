// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>

#include "overtake/model.hpp"

namespace overtake::command {

/// Adds to the CPU segments in a summary of `model` which layouts their values have on this
/// machine: the outputs of all operators, the values from and to the device, and the conversions
/// between them, with their bytes. Throws Error ENOMEM.
void add_cpu_layouts(nlohmann::ordered_json& summary, const Model& model);

} // namespace overtake::command
