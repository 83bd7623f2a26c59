// SPDX-License-Identifier: MIT
//
// Of a model that comes quantised: which tensors have a scale, and which nodes need one that the
// model does not give.
#pragma once

#include <set>
#include <string>

#include "compiler/ir/graph.hpp"

namespace overtake::compiler {

/// Gives values the quantisation that follows from their neighbours', where nothing is lost: moving
/// what is rounded is rounding what is moved.  Expects a folded graph.
void spread_given_scales(Graph& graph);

/// Names of the nodes of the device that would need a scale which the model does not give: of a
/// value that they read or write, or of weights.  Expects spread_given_scales() to have run.
std::set<std::string> nodes_without_scales(const Graph& graph);

} // namespace overtake::compiler
