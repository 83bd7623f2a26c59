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
/// One row, and its range over several runs. A difference of more than 5 % between prediction and
/// measurement in p50 or p99 is named below, with what the arrivals explain of it.
void print_measured(const RowResult& result, std::uint64_t alone_p99_ns);

/// The signs of a busy machine, if there are any, and what to do.
void print_busy(const DemoResults& results);

} // namespace overtake::command
