// SPDX-License-Identifier: MIT
//
// A scenario that shows a fault, with everything taken away that the fault does not need.
#pragma once

#include <functional>

#include <nlohmann/json_fwd.hpp>

namespace overtake::test {

/// `fails` holds for `scenario` and for the result; it is only asked about valid scenarios.
nlohmann::json shrink_scenario(nlohmann::json scenario,
                               const std::function<bool(const nlohmann::json&)>& fails);

} // namespace overtake::test
