// SPDX-License-Identifier: MIT
//
// The part of a summary that tells of a plan for several cores.
#pragma once

#include <nlohmann/json.hpp>

#include "overtake/model_contents.hpp"

namespace overtake::command {

/// Null if the file has none.
nlohmann::ordered_json summarise_core_plan(const ModelContents& contents);

} // namespace overtake::command
