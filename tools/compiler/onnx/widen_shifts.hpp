// SPDX-License-Identifier: MIT
#pragma once

#include <onnx/onnx_pb.h>

#include "compiler/onnx/libonnx.hpp"
#include "compiler/onnx/set_aside.hpp"

namespace overtake::compiler {

/// Writes a BitShift of bytes as a BitShift of 32 bits, whose results become bytes again.  Import
/// takes tensors of bytes for quantised numbers, which cannot be shifted.  The graph has opset 13
/// or newer.
void widen_shifts(onnx::ModelProto& model, Libonnx& libonnx, Refusals& refusals);

} // namespace overtake::compiler
