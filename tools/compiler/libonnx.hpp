// SPDX-License-Identifier: MIT
//
// libonnx, at a distance.  It believes what a model says of itself: it may follow that beyond its
// arrays, divide by it or count it down for hours.  So it works in a child process, which may be
// lost, on a copy of the model.
#pragma once

#include <string>

#include <sys/types.h>

#include <onnx/onnx_pb.h>

namespace overtake::compiler::libonnx {

/// All three throw CompileError naming `path`: if libonnx refuses the model, if it crashes, if it
/// takes more than a minute of CPU time, or if no process can be started.  Not to be called while
/// another thread uses protobuf.
void check(const onnx::ModelProto& model, const std::string& path);

/// The model in another opset of ONNX.
onnx::ModelProto convert(const onnx::ModelProto& model, int opset, const std::string& path);

/// Adds the shapes that can be known to the graph's values and outputs.
void infer_shapes(onnx::ModelProto& model, const std::string& path);

/// What starts a child, as fork() does: fork(), unless a fuzzer knows a faster way.
extern pid_t (*start_child)();

} // namespace overtake::compiler::libonnx
