// SPDX-License-Identifier: MIT
#pragma once

#include <onnx/onnx_pb.h>

#include "compiler/onnx/libonnx.hpp"
#include "compiler/onnx/set_aside.hpp"

namespace overtake::compiler {

/// Writes a BitShift of bytes as one of 32 bits, of which bytes are taken: bytes are the device's
/// numbers, and no operator of its computes in them.  The graph is of opset 13 or newer.
void widen_shifts(onnx::ModelProto& model, Libonnx& libonnx, Refusals& refusals);

} // namespace overtake::compiler
