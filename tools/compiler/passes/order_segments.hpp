// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "compiler/ir/graph.hpp"

namespace overtake::compiler {

/// Consecutive nodes of one processor.
struct NodeRange {
    bool on_bpu;
    std::size_t first;
    std::size_t count;
};

/// Sorts the nodes so that they make as few segments as their order allows: the processor that has
/// the turn runs all nodes that it can before the other one does.  The order stays topological.
void order_segments(Graph& graph);

/// Returns the maximal runs of nodes of one processor.
std::vector<NodeRange> segments_of(const Graph& graph);

} // namespace overtake::compiler
