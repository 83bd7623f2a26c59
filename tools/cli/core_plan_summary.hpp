// SPDX-License-Identifier: MIT
//
// The part of a summary about a plan for several cores.
#pragma once

#include <nlohmann/json.hpp>

#include "overtake/model_contents.hpp"

namespace overtake::command {

/// Returns null if the file has no such plan.
nlohmann::ordered_json summarise_core_plan(const ModelContents& contents);

} // namespace overtake::command
