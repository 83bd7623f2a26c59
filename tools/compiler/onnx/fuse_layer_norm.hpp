// SPDX-License-Identifier: MIT
#pragma once

#include <onnx/onnx_pb.h>

namespace overtake::compiler {

/// Exporters before opset 17 write LayerNormalization as (x - mean) / sqrt(mean of squares +
/// epsilon), and a scale and an offset behind it; the last of these nodes becomes that operator
/// again.
void fuse_layer_norm(onnx::ModelProto& model);

/// Drops nodes whose outputs no node reads, and names of outputs that no node reads where the
/// operator may do without them: indices of MaxPool, outputs of ONNX Runtime's operators.
void remove_dead_nodes(onnx::ModelProto& model);

} // namespace overtake::compiler
