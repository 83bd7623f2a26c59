// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>

#include "overtake/model_contents.hpp"

namespace overtake::command {

/// Units by class of processor, and what they add to the memory of a request; null if the file has
/// none.
nlohmann::ordered_json summarise_units(const ModelContents& contents);

} // namespace overtake::command
