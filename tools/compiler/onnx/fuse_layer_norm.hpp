// SPDX-License-Identifier: MIT
#pragma once

#include <onnx/onnx_pb.h>

namespace overtake::compiler {

/// Exporters before opset 17 write LayerNormalization as (x - mean) / sqrt(mean of squares +
/// epsilon), and a scale and an offset behind it where it has them.  The last of these nodes
/// becomes LayerNormalization again.
void fuse_layer_norm(onnx::ModelProto& model);

/// Removes nodes of which neither a node nor the network's caller reads an output.  Clears the
/// names of unread outputs but the first where the operator may do without them: indices of
/// MaxPool, outputs of ONNX Runtime's operators.
void remove_dead_nodes(onnx::ModelProto& model);

} // namespace overtake::compiler
