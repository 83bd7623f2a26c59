// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include <onnx/onnx_pb.h>

namespace overtake::compiler {

/// Makes a network with quantised weights, whose other tensors are quantised at run time
/// (DynamicQuantizeLinear, ConvInteger, MatMulInteger), a network in float with the same weights:
/// this compiler chooses the scales of all other tensors itself.  In float, quantising at run time
/// is quantising with a scale of 1 and a zero point of 0 without rounding.  A DynamicQuantizeLinear
/// stays if other nodes or the network's caller read its outputs; if a product of integers reads
/// its bytes as well, the network is refused.  Each DequantizeLinear of the bytes of one that stays
/// becomes Cast, Sub (if it has a zero point) and Mul, with a scale for each position along its
/// axis if it has several.  Throws CompileError that names file and node.
void remove_dynamic_quantisation(onnx::ModelProto& model, const std::string& path);

} // namespace overtake::compiler
