// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "compiler/ir/graph.hpp"

namespace overtake::compiler {

/// Indices into Graph::nodes.
struct NarrowNodes {
    std::vector<std::size_t> fixed;         ///< whose output has a scale that is fixed
    std::vector<std::size_t> many_products; ///< that read 8 bits as they add up too many products
};

/// Gives 16 bits on the device to what the wanted nodes, indices into Graph::nodes, read and write.
/// Values that one node only moves or chooses among have 16 bits together.  8 bits stay where the
/// model or the program fixes a value's scale, for `kept` outputs, and where a node would add up
/// more products of 16 bits than the device does.  Returns where 8 bits stay though they were not
/// wanted.
NarrowNodes widen_activations(Graph& graph, const std::vector<std::size_t>& wanted,
                              const std::vector<ValueId>& kept);

} // namespace overtake::compiler
