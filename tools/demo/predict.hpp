// SPDX-License-Identifier: MIT
//
// What the simulator says of a row before any device has run it.
#pragma once

#include <cstdint>
#include <filesystem>

#include "demo/demo.hpp"

namespace overtake::demo {

/// The compiled networks; prediction takes their FC tables, measurement runs them.
struct Networks {
    std::filesystem::path detector;
    std::filesystem::path large;
    std::filesystem::path large_split;
};

struct Load {
    unsigned requests = 2000;   ///< of the detector
    unsigned period_us = 10000; ///< of the detector
    /// From the end of a request of the large network to the arrival of the one that takes its
    /// place. A property of the host; 0 is an ideal one.
    std::uint64_t turnaround_us = 0;
};

/// Simulates the bundled scenario demo-ROW with the FCs of `networks`. Throws Error if a model or
/// the scenario cannot be read. Thread safe.
Figures predict(const Row& row, const Networks& networks, const Load& load);

/// The time of one request of a model that has the device to itself. Throws Error.
std::uint64_t predicted_cost_ns(const std::filesystem::path& model);

} // namespace overtake::demo
