// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "demo_results.hpp"

namespace overtake::command {

/// Returns all results of `overtake demo` as one HTML page that needs no other file. The page names
/// the results that are not measured yet. Pure.
std::string demo_page(const DemoResults& results);

} // namespace overtake::command
