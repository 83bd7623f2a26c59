// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include <onnx/onnx_pb.h>

namespace overtake::compiler {

/// Makes a network with quantised weights whose other tensors are quantised at run time
/// (DynamicQuantizeLinear, ConvInteger, MatMulInteger) one in float, with the same weights: this
/// compiler chooses the scales of all other tensors itself.  In float, quantising at run time is
/// quantising with a scale of 1 and a zero point of 0 without rounding.  A DynamicQuantizeLinear
/// whose outputs something else reads stays, unless a product of integers follows.  Each
/// DequantizeLinear of what stays becomes Cast, Sub and Mul, with a scale for each position along
/// its axis where it has several.  Throws CompileError that names file and node.
void remove_dynamic_quantisation(onnx::ModelProto& model, const std::string& path);

} // namespace overtake::compiler
