// SPDX-License-Identifier: MIT
#pragma once

#include <onnx/onnx_pb.h>

namespace overtake::compiler {

class Libonnx;

/// Pools with ceil_mode whose last window would begin in the padding behind the tensor have none
/// there.  Not every libonnx knows that, so they become pools without ceil_mode and with as much
/// padding as makes the same windows.
void settle_ceil_mode(onnx::ModelProto& model, Libonnx& libonnx);

} // namespace overtake::compiler
