// SPDX-License-Identifier: MIT
//
// overtake compile --check: the processor of each node, and all refusals, without compiling.
#pragma once

#include "compiler/compile.hpp"

namespace overtake::command {

/// Prints the table, or JSON. Returns the exit status: 0 if the network would compile, 1 if not.
int check_network(const compiler::CompileOptions& options, bool prints_json);

} // namespace overtake::command
