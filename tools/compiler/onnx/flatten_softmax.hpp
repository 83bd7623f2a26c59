// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include <onnx/onnx_pb.h>

namespace overtake::compiler {

/// Whether the model has a Softmax, LogSoftmax or Hardmax.
bool has_softmax(const onnx::ModelProto& model);

/// Softmax, LogSoftmax and Hardmax of opsets below 13 run over all axes from `axis` on as if they
/// were one.  Adds nodes around them - Shape, Flatten and Reshape - that need no shape to be known
/// here.  Then the operator runs over the last axis, where all opsets agree.
void flatten_softmax(onnx::ModelProto& model, int opset, const std::string& path);

} // namespace overtake::compiler
