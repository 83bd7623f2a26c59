// SPDX-License-Identifier: MIT
#pragma once

#include "compiler/ir/graph.hpp"

namespace overtake::compiler {

/// Convolutions of the CPU with constant weights take the products and sums with a constant for
/// each channel that follow them, as of a BatchNormalization, into weights and bias.
void fold_on_cpu(Graph& graph);

} // namespace overtake::compiler
