// SPDX-License-Identifier: MIT
//
// The scenarios that are installed with the program.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace overtake::simulator {

/// Returns the file that `name` means: a path, or the name of a bundled scenario ("demo-both").
/// Throws Error (ENOENT), whose text has, for a plain name, the command that lists the bundled
/// scenarios.
std::filesystem::path find_scenario(const std::string& name);

/// Returns the names in alphabetical order; empty if no scenarios are installed.
std::vector<std::string> bundled_scenarios();

} // namespace overtake::simulator
