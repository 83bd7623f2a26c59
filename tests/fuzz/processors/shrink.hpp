// SPDX-License-Identifier: MIT
#pragma once

#include <functional>

#include <nlohmann/json.hpp>

namespace overtake::fuzz {

/// Returns the scenario, made smaller as long as it still fails. `fails` may throw Error for a
/// smaller scenario that is not valid.
nlohmann::json shrink(nlohmann::json scenario,
                      const std::function<bool(const nlohmann::json&)>& fails);

} // namespace overtake::fuzz
