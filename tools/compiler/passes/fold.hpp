// SPDX-License-Identifier: MIT
#pragma once

#include "compiler/ir/graph.hpp"

namespace overtake::compiler {

/// Merges per-channel scaling into the convolution before it and clamps into whatever is before
/// them, where nothing else reads the value in between; drops nodes whose output is not read.
/// The graph computes what it did before, up to float rounding.
void fold(Graph& graph);

} // namespace overtake::compiler
