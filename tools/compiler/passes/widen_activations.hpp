// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "compiler/ir/graph.hpp"

namespace overtake::compiler {

/// Nodes that keep 8 bits, as indices into Graph::nodes.
struct NarrowNodes {
    std::vector<std::size_t> fixed;         ///< nodes whose output has a fixed scale
    std::vector<std::size_t> many_products; ///< nodes that would add up too many products
};

/// Gives 16 bits on the device to the values that the wanted nodes, indices into Graph::nodes, read
/// and write.  Values that a node only moves or chooses from get 16 bits together.  8 bits stay
/// where the model or the program fixes a value's scale, for `kept` outputs, and where a node would
/// add up more products of 16 bits than the device does.  Returns the nodes where 8 bits stay
/// although 16 were wanted.
NarrowNodes widen_activations(Graph& graph, const std::vector<std::size_t>& wanted,
                              const std::vector<ValueId>& kept);

} // namespace overtake::compiler
