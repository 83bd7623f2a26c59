// SPDX-License-Identifier: MIT
#pragma once

#include "compiler/ir/graph.hpp"

namespace overtake::compiler {

/// Merges products and sums with a constant for each channel, as of a BatchNormalization, into the
/// weights and bias of the CPU's convolution before them, if its weights are constant.
void fold_on_cpu(Graph& graph);

} // namespace overtake::compiler
