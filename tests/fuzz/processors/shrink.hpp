// SPDX-License-Identifier: MIT
#pragma once

#include <functional>

#include <nlohmann/json.hpp>

namespace overtake::fuzz {

/// A scenario with processors, made smaller as long as it still fails. `fails` may throw Error for
/// what is no scenario any more.
nlohmann::json shrink(nlohmann::json scenario,
                      const std::function<bool(const nlohmann::json&)>& fails);

} // namespace overtake::fuzz
