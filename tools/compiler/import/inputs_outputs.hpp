// SPDX-License-Identifier: MIT
//
// The frame around the nodes: constants, inputs and outputs of the file.
#pragma once

#include "compiler/import/context.hpp"

namespace overtake::compiler {

/// Begins the graph with the constants, inputs and shapes of the file.
void read_inputs(Context& context);

/// Ends the graph: each output becomes a value of its own that some node writes, and values get the
/// scales that the model gives them.
void read_outputs(Context& context);

} // namespace overtake::compiler
