// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include <onnx/onnx_pb.h>

namespace overtake::compiler {

/// Checks that each node reads tensors of types that ONNX allows for its operator, and of one type
/// where they have to agree.  libonnx's checker checks neither.  libonnx's inference has run
/// before, so that the types of values are known as far as possible.  Throws CompileError that
/// names file and node.
void check_types(const onnx::ModelProto& model, const std::string& path);

/// Whether the type is one of integers of 8 or 16 bits.
bool is_short_integer(int type);

} // namespace overtake::compiler
