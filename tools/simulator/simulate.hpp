// SPDX-License-Identifier: MIT
//
// A whole simulation in one call.
#pragma once

#include <filesystem>
#include <iosfwd>

#include <nlohmann/json_fwd.hpp>

namespace overtake::simulator {

/// Simulates the scenario that `document` describes and writes its timeline to `out`. Files that
/// the scenario names are relative to `directory`. Throws Error; thread safe.
void simulate(const nlohmann::json& document, const std::filesystem::path& directory,
              std::ostream& out);

} // namespace overtake::simulator
