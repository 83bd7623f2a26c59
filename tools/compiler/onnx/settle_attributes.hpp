// SPDX-License-Identifier: MIT
#pragma once

#include <onnx/onnx_pb.h>

namespace overtake::compiler {

/// Writes attributes so that libonnx reads them as ONNX defines them, before it converts the
/// network or infers shapes.  With auto_pad SAME_*, a pool has one output for each stride, whatever
/// ceil_mode says, and what a ConvTranspose cuts off includes its output_padding.  The `value` of
/// Pad, which libonnx's conversion wants to be written, is 0 where it is not.
void settle_attributes(onnx::ModelProto& model, int opset);

} // namespace overtake::compiler
