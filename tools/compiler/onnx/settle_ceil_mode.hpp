// SPDX-License-Identifier: MIT
#pragma once

#include <onnx/onnx_pb.h>

namespace overtake::compiler {

class Libonnx;

/// A pool with ceil_mode has no window that begins in the padding behind the tensor.  Not every
/// libonnx knows that, so pools with such a last window become pools without ceil_mode, whose
/// padding makes the same windows.
void settle_ceil_mode(onnx::ModelProto& model, Libonnx& libonnx);

} // namespace overtake::compiler
