// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include <onnx/onnx_pb.h>

namespace overtake::compiler {

/// Puts writers in front of readers, in graphs in nodes too, and does not move nodes that are in
/// order.  Throws CompileError that names the nodes of a cycle.
void sort_nodes(onnx::GraphProto& graph, const std::string& path);

} // namespace overtake::compiler
