// SPDX-License-Identifier: MIT
//
// A whole simulation in one call.
#pragma once

#include <filesystem>
#include <iosfwd>

#include <nlohmann/json_fwd.hpp>

#include "simulator/summary.hpp"

namespace overtake::simulator {

/// Simulates the scenario that `document` describes and writes its timeline to `out`. Files that
/// the scenario names are relative to `directory`. Throws Error; thread safe.
void simulate(const nlohmann::json& document, const std::filesystem::path& directory,
              std::ostream& out);

/// What a run of `scenario` with `seed` for its generated loads comes to. Throws Error; thread safe.
Summary simulate(const Scenario& scenario, std::uint64_t seed);

} // namespace overtake::simulator
