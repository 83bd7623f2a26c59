// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "compiler/ir/graph.hpp"

namespace overtake::compiler {

/// Gives 16 bits on the device to what the wanted nodes, indices into Graph::nodes, read and write.
/// Values that one node only moves or chooses among have 16 bits together.  8 bits stay where the
/// model or the program fixes a value's scale, for `kept` outputs, and where a node would add up
/// more products of 16 bits than the device does.  Returns the nodes whose output has 8 bits for
/// that reason though it was wanted.
std::vector<std::size_t> widen_activations(Graph& graph, const std::vector<std::size_t>& wanted,
                                           const std::vector<ValueId>& kept);

} // namespace overtake::compiler
