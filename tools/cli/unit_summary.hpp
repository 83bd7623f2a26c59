// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>

#include "overtake/model_contents.hpp"

namespace overtake::command {

/// Returns units by class of processor, and the memory that they add to a request; null if the file
/// has no units.
nlohmann::ordered_json summarise_units(const ModelContents& contents);

} // namespace overtake::command
