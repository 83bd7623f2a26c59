// SPDX-License-Identifier: MIT
//
// Makes a scenario that shows a fault as small as the fault allows.
#pragma once

#include <functional>

#include <nlohmann/json_fwd.hpp>

namespace overtake::test {

/// `fails` is true for `scenario` and for the result; it is only called with valid scenarios.
nlohmann::json shrink_scenario(nlohmann::json scenario,
                               const std::function<bool(const nlohmann::json&)>& fails);

} // namespace overtake::test
