// SPDX-License-Identifier: MIT
//
// Nodes at the inputs and outputs of a network that the user wants to do without: what they compute
// the program does, or what they undo is not done.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

#include "compiler/onnx/removed_node.hpp"

namespace overtake::compiler {

class Libonnx;

/// Removes nodes with one input of data whose input is the network's and read by nothing else, and
/// those whose output is the network's; in this order, so that one makes room for the next.  The
/// network's inputs and outputs keep their names.  Named nodes that cannot go are warned about.
void remove_edge_nodes(onnx::ModelProto& model, const std::vector<RemovedNode>& removed,
                       Libonnx& libonnx, const std::function<void(const std::string&)>& warn);

} // namespace overtake::compiler
