// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "compiler/ir/graph.hpp"
#include "compiler/ir/program.hpp"
#include "compiler/quantise/calibrate.hpp"
#include "compiler/quantise/quantise.hpp"

namespace overtake::compiler {

/// A graph in integers, and its program before it is split into FCs.
struct Candidate {
    Graph graph; ///< the graph in float, with the nodes that quantising added
    QuantisedGraph quantised;
    Program program;
};

/// `ranges` are those of the graph's values, by ValueId.  Throws CompileError.
Candidate make_candidate(const Graph& graph, const Calibration& calibration,
                         const std::vector<Range>& ranges, bool corrects_bias);

} // namespace overtake::compiler
