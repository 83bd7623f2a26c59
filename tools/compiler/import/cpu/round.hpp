// SPDX-License-Identifier: MIT
//
// What the model rounds to 8 bits, rounded on the CPU: a value that the device never holds.
#pragma once

#include <utility>
#include <vector>

#include "compiler/ir/graph.hpp"

namespace overtake::compiler {

/// Inputs, and values that nodes of the CPU write, and what each is rounded to there.
using Roundings = std::vector<std::pair<ValueId, Quantisation>>;

/// Rounds them before they are read: divided by the scale in float32, rounded half to even,
/// saturated, multiplied by the scale.
void round_on_cpu(Graph& graph, const Roundings& roundings);

} // namespace overtake::compiler
