// SPDX-License-Identifier: MIT
//
// The tables of `overtake demo`.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "demo/predict.hpp"

namespace overtake::command {

/// The five rows as the simulator sees them, and the same as JSON.
nlohmann::ordered_json print_predicted(const demo::Networks& networks, const demo::Load& load);

void print_measured_head();
/// One row, what was predicted beside it. A difference of more than 5 % in p50 or p99 is named
/// below.
void print_measured(const demo::Row& row, const demo::Networks& networks, const demo::Load& load,
                    const demo::Figures& predicted, const demo::Figures& measured,
                    std::uint64_t alone_p99_ns);

nlohmann::ordered_json to_json(const demo::Row& row, const demo::Figures& figures);

} // namespace overtake::command
