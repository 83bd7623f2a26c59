// SPDX-License-Identifier: MIT
#pragma once

#include <onnx/onnx_pb.h>

namespace overtake::compiler {

/// Writes attributes so that libonnx reads them as ONNX defines them, before it converts the
/// network or infers shapes.  With auto_pad SAME_*, a pool has one output for each stride with any
/// ceil_mode, and the pads of a ConvTranspose include its output_padding.  A Pad without a `value`,
/// which libonnx's conversion requires, gets the value 0.
void settle_attributes(onnx::ModelProto& model, int opset);

} // namespace overtake::compiler
