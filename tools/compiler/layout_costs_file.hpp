// SPDX-License-Identifier: MIT
//
// Files with the times of operators and conversions on one machine's CPU (docs/use/cpu.md).
#pragma once

#include <string>

#include "cpu/layout_costs.hpp"

namespace overtake::compiler {

/// Returns the text of such a file, which reads back as the same costs.  `machine` is a line about
/// where they were measured.
std::string layout_costs_file(const cpu::LayoutCosts& costs, const std::string& machine);

/// Returns the costs of a file.  Throws CompileError with the file, line and key of a fault, and
/// the remedy.
cpu::LayoutCosts read_layout_costs(const std::string& path);

} // namespace overtake::compiler
