// SPDX-License-Identifier: MIT
//
// What `overtake demo` prints.
#pragma once

#include <cstdint>

#include "demo_results.hpp"

namespace overtake::command {

void print_introduction(const DemoSetup& setup, std::uint64_t large_cost_ns);

void print_predicted_head();
void print_predicted(const demo::Row& row, const demo::Figures& figures,
                     std::uint64_t alone_p99_ns);

void print_measured_head();
/// One row, and its range over several runs.
void print_measured(const RowResult& result);

/// The rows that the host disturbed however often they were measured, with what the arrivals
/// explain of it; nothing if there are none.
void print_disturbed(const DemoResults& results);

/// The signs of a busy machine, if there are any, and what to do.
void print_busy(const DemoResults& results);

} // namespace overtake::command
