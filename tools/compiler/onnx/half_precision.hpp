// SPDX-License-Identifier: MIT
#pragma once

#include <onnx/onnx_pb.h>

namespace overtake::compiler {

/// Makes a network of FLOAT16 or BFLOAT16 one of FLOAT, also in graphs in nodes: constants are
/// exactly what they were, and what is computed is more exact.  Whether there was anything to do.
bool widen_half_precision(onnx::GraphProto& graph);

} // namespace overtake::compiler
