// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "compiler/cores/layers.hpp"
#include "compiler/quantise/quantise.hpp"

namespace overtake::compiler {

/// A network in integers, lowered for one core, and as layers.
struct LayeredNetwork {
    Graph graph;
    QuantisedGraph quantised;
    Program program; ///< the whole program, without FCs
    std::vector<SegmentLayers> segments;
};

/// Quantises the graph with the ranges of its values, and lowers it.  Throws CompileError.
LayeredNetwork layered_network(Graph graph, const std::vector<Range>& ranges);

} // namespace overtake::compiler
