// SPDX-License-Identifier: MIT
//
// Measuring for `overtake demo`: every client a process of its own, on one kernel device.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "demo_results.hpp"
#include "overtake/device.hpp"

namespace overtake::command {

/// The cost in ns of one request that has the device to itself. Throws Error.
std::uint64_t measure_cost(const DemoSetup& setup, const std::string& model);

/// Runs the clients of a row as often as `setup` says. `device` is opened only to watch it. `tell`
/// hears now and then how much of it is done, 0..1. Throws Error if a client fails.
Measurement measure(const DemoSetup& setup, const demo::Row& row, std::uint64_t large_cost_ns,
                    Device& device, const std::function<void(double)>& tell);

} // namespace overtake::command
