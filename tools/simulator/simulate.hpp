// SPDX-License-Identifier: MIT
//
// A whole simulation in one call.
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

/// The times that are left out of a summary, in us: after the first arrival, and before the last
/// end.
struct Trim {
    std::uint64_t warm_up = 0;
    std::uint64_t drain = 0;
};

/// A time in us in the unit of a scenario; without end stays so.
std::uint64_t ticks(std::uint64_t us, std::uint64_t tick_ns);

/// Returns the window that remains of a run of `scenario` with `seed`, which is run for it if
/// anything is left out.  Throws Error, also (EINVAL) if nothing is left; thread safe.
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
