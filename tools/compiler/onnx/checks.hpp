// SPDX-License-Identifier: MIT
//
// What libonnx does not look at before it relies on it.  All of these throw CompileError that names
// file and place.
#pragma once

#include <string>

#include <onnx/onnx_pb.h>

namespace overtake::compiler {

/// Names are text: they stand in messages of one line, and in names of files.
void check_text(const onnx::GraphProto& graph, const std::string& path);

/// Nodes have outputs, constants have as many elements as they say, and what sizes are divided or
/// counted down by is in range.
void check_contents(const onnx::ModelProto& model, const std::string& path);

/// Nodes have as many inputs and outputs as their operators in this opset, and those that they
/// need.
void check_parameters(const onnx::GraphProto& graph, int opset, const std::string& path);

/// Nodes read what there is, and weights have as many dimensions as they need.  What is said in
/// passing of values that no node makes is forgotten.
void check_references(onnx::ModelProto& model, const std::string& path);

} // namespace overtake::compiler
