// SPDX-License-Identifier: MIT
//
// The text that `overtake demo` prints.
#pragma once

#include <cstdint>

#include "demo_results.hpp"

namespace overtake::command {

void print_introduction(const DemoSetup& setup, std::uint64_t large_cost_ns);

void print_predicted_head();
void print_predicted(const demo::Row& row, const demo::Figures& figures,
                     std::uint64_t alone_p99_ns);

void print_measured_head();
/// Prints one row, and its range over several runs.
void print_measured(const RowResult& result);

/// Prints the rows that the host disturbed in every attempt, with the part that the arrivals
/// explain; nothing if there are no such rows.
void print_disturbed(const DemoResults& results);

/// Prints the signs of a busy machine, if there are any, and the remedy.
void print_busy(const DemoResults& results);

} // namespace overtake::command
