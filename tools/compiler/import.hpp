// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "graph.hpp"

namespace overtake::compiler {

/// Reads an ONNX file into a Graph.  BatchNormalization and arithmetic with constants become
/// depthwise convolutions of one element, Relu and Clip activations that only clamp, Gemm and
/// MatMul convolutions whose kernel is their whole input; folding merges them afterwards.
/// Throws CompileError naming file, node, operator and reason for what it cannot take.
Graph import_onnx(const std::string& path);

} // namespace overtake::compiler
