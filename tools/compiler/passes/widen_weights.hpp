// SPDX-License-Identifier: MIT
#pragma once

#include "compiler/ir/graph.hpp"

namespace overtake::compiler {

/// Turns weights of nine bits, which are unsigned bytes minus a zero point that is not 128, into
/// sums of two weights of eight bits.  A convolution reads its input twice, one after the other
/// along the channels or, if it has groups, every row twice.  The result stays the same to the bit.
/// Other weights, and weights whose scales the model does not give, do not change.
void widen_weights(Graph& graph);

} // namespace overtake::compiler
