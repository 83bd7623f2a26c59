// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include <onnx/onnx_pb.h>

namespace overtake::compiler {

/// Puts the nodes of the model's own functions where they are called, in graphs in nodes too, and
/// in functions that call others.  Functions of another opset than the model's stay calls, which
/// are refused as operators that are not known.  Throws CompileError for functions that call
/// themselves or make too many nodes.
void inline_functions(onnx::ModelProto& model, const std::string& path);

} // namespace overtake::compiler
