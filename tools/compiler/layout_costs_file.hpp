// SPDX-License-Identifier: MIT
//
// Files of what operators and conversions take on one machine's CPU (docs/use/cpu.md).
#pragma once

#include <string>

#include "cpu/layout_costs.hpp"

namespace overtake::compiler {

/// The text of such a file; it reads back as the same costs.  `machine` is a line about where they
/// were measured.
std::string layout_costs_file(const cpu::LayoutCosts& costs, const std::string& machine);

/// Throws CompileError: the file, line and key of what is wrong, and the remedy.
cpu::LayoutCosts read_layout_costs(const std::string& path);

} // namespace overtake::compiler
