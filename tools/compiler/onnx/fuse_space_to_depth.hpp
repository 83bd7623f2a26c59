// SPDX-License-Identifier: MIT
#pragma once

#include <onnx/onnx_pb.h>

namespace overtake::compiler {

/// Exporters write blocks of channels that become pixels, and the reverse, as Reshape, Transpose,
/// Reshape through six dimensions.  The last of these nodes becomes DepthToSpace or SpaceToDepth.
/// Shapes have been inferred.
void fuse_space_to_depth(onnx::ModelProto& model);

} // namespace overtake::compiler
