// SPDX-License-Identifier: MIT
//
// Checks of properties on which libonnx relies without checking them.  All of them throw
// CompileError that names file and place.
#pragma once

#include <string>

#include <onnx/onnx_pb.h>

namespace overtake::compiler {

/// Checks that names are text: they are used in messages of one line, and in names of files.
void check_text(const onnx::GraphProto& graph, const std::string& path);

/// Checks that nodes have outputs, that constants have as many elements as their shapes say, and
/// that attributes by which sizes are divided or counted down are in range.
void check_contents(const onnx::ModelProto& model, const std::string& path);

/// Checks that nodes have as many inputs and outputs as their operators allow in this opset, and
/// all inputs and outputs that these need.
void check_parameters(const onnx::GraphProto& graph, int opset, const std::string& path);

/// Checks that nodes read tensors that exist, and that weights have as many dimensions as they
/// need.  Removes the value infos of values that no node makes.
void check_references(onnx::ModelProto& model, const std::string& path);

} // namespace overtake::compiler
