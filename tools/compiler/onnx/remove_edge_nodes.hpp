// SPDX-License-Identifier: MIT
//
// Removes nodes at the inputs and outputs of a network that the user does not want.  The program
// does their work itself, or leaves out the step that they would undo.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

#include "compiler/onnx/removed_node.hpp"

namespace overtake::compiler {

class Libonnx;

/// Removes nodes with one output whose first input is an input of the network that no other node
/// reads, and nodes whose output is an output of the network.  It removes them in the order of
/// `removed`, so that one makes room for the next.  The network's inputs and outputs keep their
/// names.  It warns about a named node that cannot be removed, and removes none from a network with
/// graphs in nodes.
void remove_edge_nodes(onnx::ModelProto& model, const std::vector<RemovedNode>& removed,
                       Libonnx& libonnx, const std::function<void(const std::string&)>& warn);

} // namespace overtake::compiler
