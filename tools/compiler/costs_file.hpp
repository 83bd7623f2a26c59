// SPDX-License-Identifier: MIT
//
// Files of learned costs (docs/use/cores.md).
#pragma once

#include <string>

#include "compiler/cores/learned_costs.hpp"

namespace overtake::compiler {

/// Returns the text of a file of costs; it reads back as the same costs, to the last bit.
std::string costs_file(const LearnedCosts& costs);

/// Reads the text of such a file; `name` is the file's.  Throws CompileError with place and remedy.
LearnedCosts parse_costs(const std::string& text, const std::string& name);

LearnedCosts read_costs(const std::string& path);

} // namespace overtake::compiler
