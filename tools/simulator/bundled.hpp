// SPDX-License-Identifier: MIT
//
// The scenarios that come with the product.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace overtake::simulator {

/// The file that `name` means: a path, or the name of a bundled scenario ("demo-both").
/// Throws Error (ENOENT) that says which names there are.
std::filesystem::path find_scenario(const std::string& name);

/// Names, in alphabetical order; empty if none are installed.
std::vector<std::string> bundled_scenarios();

} // namespace overtake::simulator
