// SPDX-License-Identifier: MIT
#pragma once

#include "compiler/ir/graph.hpp"

namespace overtake::compiler {

/// Merges per-channel scaling into the convolution before it, and clamps into whatever node is
/// before them, if nothing else reads the value in between.  Removes nodes whose output is not
/// read.  The graph computes the same as before, up to float rounding.
void fold(Graph& graph);

} // namespace overtake::compiler
