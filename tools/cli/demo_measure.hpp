// SPDX-License-Identifier: MIT
//
// Measures for `overtake demo`: every client is a process, and all use one kernel device.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "demo_results.hpp"
#include "overtake/device.hpp"

namespace overtake::command {

/// Returns the cost in ns of a request that has the device to itself. Throws Error.
std::uint64_t measure_cost(const DemoSetup& setup, const std::string& model);

/// Runs the clients of a row, with the number of repetitions in `setup`. `device` is opened only to
/// watch it. `tell` is called during the runs with the part that is done, 0..1. Throws Error if a
/// client fails.
Measurement measure(const DemoSetup& setup, const demo::Row& row, std::uint64_t large_cost_ns,
                    Device& device, const std::function<void(double)>& tell);

} // namespace overtake::command
