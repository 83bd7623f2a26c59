// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <string>

#include <onnx/onnx_pb.h>

#include "compiler/onnx/file.hpp"
#include "compiler/onnx/libonnx.hpp"

namespace overtake::compiler {

/// Puts the branch that is taken in the place of each If whose condition follows from constants and
/// from shapes, over and over as one leads to another, and computes the constants on the way.
/// `evaluate` is asked for them in graphs that have no inputs.  Leaves other nodes with graphs in
/// them alone.
void fold_conditions(onnx::ModelProto& model, int opset, Libonnx& libonnx,
                     const Evaluate& evaluate);

/// Why the node, which still has graphs in it, cannot be taken.
std::string reason_of_control_flow(const onnx::GraphProto& graph, const onnx::NodeProto& node);

} // namespace overtake::compiler
