// SPDX-License-Identifier: MIT
//
// Predicts a row with the simulator, before a device has run it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "load/demo/demo.hpp"

namespace overtake::demo {

/// The compiled networks; prediction takes their FC tables, measurement runs them.
struct Networks {
    std::filesystem::path detector;
    std::filesystem::path large;
    std::filesystem::path large_split;
};

struct Load {
    unsigned requests = 2000;   ///< requests of the detector
    unsigned period_us = 10000; ///< period of the detector
};

/// The simulator's results for one row.
struct Prediction {
    Figures figures;
    std::string picture; ///< the middle of the run, SVG
};

/// Simulates the bundled scenario demo-ROW with the FCs of `networks`. Throws Error if a model or
/// the scenario cannot be read. Thread safe.
Prediction predict(const Row& row, const Networks& networks, const Load& load);

/// Simulates the row with the arrivals of a measurement: the host's part comes from the
/// measurement, and the device's part is simulated. Throws Error. Thread safe.
Figures replay(const Row& row, const Networks& networks, unsigned period_us,
               std::span<const load::Request> detector, std::span<const load::Request> large);

/// Returns the time of one request of a model that has the device to itself.  Throws Error.
std::uint64_t predicted_cost_ns(const std::filesystem::path& model);

} // namespace overtake::demo
