// SPDX-License-Identifier: MIT
#pragma once

#include <onnx/onnx_pb.h>

namespace overtake::compiler {

/// Replaces FLOAT16 and BFLOAT16 by FLOAT in a network, also in graphs in nodes.  Constants keep
/// their exact values, and computed values become more exact.  Returns whether there was any.
bool widen_half_precision(onnx::GraphProto& graph);

} // namespace overtake::compiler
