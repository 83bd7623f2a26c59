// SPDX-License-Identifier: MIT
#pragma once

#include "compiler/ir/graph.hpp"

namespace overtake::compiler {

/// Weights of nine bits, which are unsigned bytes less a zero point that is not 128, become sums of
/// two of eight: a convolution reads its input twice, one behind the other along the channels, or,
/// where it has groups, every row twice.  The result stays the same to the bit.  Others, and those
/// whose scales the model does not give, are left alone.
void widen_weights(Graph& graph);

} // namespace overtake::compiler
