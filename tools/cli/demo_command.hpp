// SPDX-License-Identifier: MIT
//
// The command demo, and the functions by which it measures.
#pragma once

#include <functional>
#include <vector>

#include <CLI/CLI.hpp>

#include "demo_results.hpp"

namespace overtake::command {

/// The functions by which the demonstration measures on a device. All three are set, or none: then
/// only --predict works.
struct DemoMeasurement {
    /// Throws CLI::ValidationError if clients of two processes cannot share the device.
    std::function<void(const DemoSetup&)> check_device;
    /// Returns the exit status of --probe: 0 if this host is punctual enough.
    std::function<int(const DemoSetup&)> probe;
    /// Predicts and measures all rows; prints them if `in_words`.
    std::function<void(DemoResults&, bool in_words)> measure;
};

/// Adds the command demo with this measurement.
void add_demo_with(CLI::App& app, int& status, const DemoMeasurement& measurement);

/// Returns each row as the simulator predicts it.
std::vector<RowResult> predict_rows(const DemoSetup& setup);

} // namespace overtake::command
