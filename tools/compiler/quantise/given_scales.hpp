// SPDX-License-Identifier: MIT
//
// For a model that comes quantised: the tensors that have a scale, and the nodes that need a scale
// which the model does not give.
#pragma once

#include <set>
#include <string>

#include "compiler/ir/graph.hpp"

namespace overtake::compiler {

/// Gives values the quantisation that follows from their neighbours', if nothing is lost: moving
/// rounded elements is the same as rounding moved ones.  Expects a folded graph.
void spread_given_scales(Graph& graph);

/// Returns the names of the device's nodes that would need a scale which the model does not give:
/// for a value that they read or write, or for weights.  Expects spread_given_scales() to have run.
std::set<std::string> nodes_without_scales(const Graph& graph);

} // namespace overtake::compiler
