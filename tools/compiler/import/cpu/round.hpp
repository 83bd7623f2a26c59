// SPDX-License-Identifier: MIT
//
// Rounds values on the CPU that the model rounds to 8 bits and that the device never holds.
#pragma once

#include <utility>
#include <vector>

#include "compiler/ir/graph.hpp"

namespace overtake::compiler {

/// Inputs, and values that nodes of the CPU write, with the quantisation to which each is rounded.
using Roundings = std::vector<std::pair<ValueId, Quantisation>>;

/// Rounds these values before nodes read them: divides by the scale in float32, rounds half to
/// even, saturates, and multiplies by the scale.
void round_on_cpu(Graph& graph, const Roundings& roundings);

} // namespace overtake::compiler
