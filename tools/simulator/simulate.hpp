// SPDX-License-Identifier: MIT
//
// Whole simulations in one call.
#pragma once

#include <filesystem>
#include <iosfwd>

#include <nlohmann/json_fwd.hpp>

#include "simulator/processors/scenario.hpp"
#include "simulator/summary.hpp"

namespace overtake::simulator {

/// Simulates the scenario that `document` describes and writes its timeline to `out`. Files that
/// the scenario names are relative to `directory`. Throws Error; thread safe.
void simulate(const nlohmann::json& document, const std::filesystem::path& directory,
              std::ostream& out);

namespace processors {
/// Simulates and writes the timeline. Throws Error; thread safe.
void simulate(const ProcessorScenario& scenario, std::ostream& out);
} // namespace processors

/// The times that a summary leaves out, in us: after the first arrival, and before the last end.
struct Trim {
    std::uint64_t warm_up = 0;
    std::uint64_t drain = 0;
};

/// Converts a time from us to ticks of a scenario; the largest time, which means no end, remains
/// so.
std::uint64_t ticks(std::uint64_t us, std::uint64_t tick_ns);

/// Returns the window of a run of `scenario` with `seed` that remains after `trim`. If `trim` is
/// not 0, it runs the simulation once to find the window. Throws Error, also (EINVAL) if nothing
/// remains; thread safe.
Window window_of(const Scenario& scenario, std::uint64_t seed, const Trim& trim);

/// Returns the summary of a run of `scenario` with `seed` for its generated loads.  Throws Error;
/// thread safe.
Summary simulate(const Scenario& scenario, std::uint64_t seed, const Trim& trim = {});

namespace processors {
/// The same functions for scenarios of several processors.
Window window_of(const ProcessorScenario& scenario, std::uint64_t seed, const Trim& trim);
Summary simulate(const ProcessorScenario& scenario, std::uint64_t seed, const Trim& trim = {});
} // namespace processors

} // namespace overtake::simulator
