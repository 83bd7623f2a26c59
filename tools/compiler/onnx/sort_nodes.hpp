// SPDX-License-Identifier: MIT
#pragma once

#include <set>
#include <string>

#include <onnx/onnx_pb.h>

namespace overtake::compiler {

/// Names that a node reads, also those that graphs in it read from around them.
std::set<std::string> names_read(const onnx::NodeProto& node);

/// Puts writers in front of readers, in graphs in nodes too, and leaves alone what is in order.
/// Throws CompileError that names the nodes of a cycle.
void sort_nodes(onnx::GraphProto& graph, const std::string& path);

} // namespace overtake::compiler
