// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "demo_results.hpp"

namespace overtake::command {

/// Everything that `overtake demo` found, as one HTML page that needs no other file to be read.
/// What is not measured yet is said to be so. Pure.
std::string demo_page(const DemoResults& results);

} // namespace overtake::command
