// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include <onnx/onnx_pb.h>

namespace overtake::compiler {

/// Replaces calls of the model's own functions by the functions' nodes, in graphs in nodes too, and
/// in functions that call others.  Calls of functions of another opset than the model's stay, and
/// are refused later as unknown operators.  Throws CompileError for functions that call themselves
/// or make too many nodes.
void inline_functions(onnx::ModelProto& model, const std::string& path);

} // namespace overtake::compiler
