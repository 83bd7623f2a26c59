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
/// What is known of one row.
struct RowFigures {
    demo::Figures predicted;
    demo::Figures measured;
    demo::Figures replayed; ///< predicted from the arrivals of the measurement
};

/// One row. A difference of more than 5 % between prediction and measurement in p50 or p99 is named
/// below, with what the arrivals explain of it.
void print_measured(const demo::Row& row, const RowFigures& figures, std::uint64_t alone_p99_ns);

nlohmann::ordered_json to_json(const demo::Row& row, const demo::Figures& figures);

} // namespace overtake::command
