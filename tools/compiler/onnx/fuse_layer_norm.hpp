// SPDX-License-Identifier: MIT
#pragma once

#include <onnx/onnx_pb.h>

namespace overtake::compiler {

/// Exporters before opset 17 write LayerNormalization as (x - mean) / sqrt(mean of squares +
/// epsilon), and a scale and an offset behind it; the last of these nodes becomes that operator
/// again.
void fuse_layer_norm(onnx::ModelProto& model);

/// Drops nodes whose outputs no node reads, and the names of ONNX Runtime's operators' further
/// outputs that no node reads.
void remove_dead_nodes(onnx::ModelProto& model);

} // namespace overtake::compiler
