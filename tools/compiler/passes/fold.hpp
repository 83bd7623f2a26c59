// SPDX-License-Identifier: MIT
#pragma once

#include "compiler/ir/graph.hpp"

namespace overtake::compiler {

/// Merges a node into a neighbour, only if no other node reads the value in between and the model
/// does not round this value: per-channel scaling into the convolution before it, a factor into the
/// matrix product before it, padding with zeros into the convolution behind it, and a clamp into a
/// node of the device before it.  Makes tables of element-wise nodes (fuse_elementwise()), and
/// merges nodes of the CPU (fold_on_cpu()).  Removes nodes whose output is not read.  The graph
/// computes the same as before, up to float rounding.
void fold(Graph& graph);

} // namespace overtake::compiler
