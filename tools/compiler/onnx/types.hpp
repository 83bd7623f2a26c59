// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include <onnx/onnx_pb.h>

namespace overtake::compiler {

/// Each node reads tensors of types that ONNX lets its operator have, and of one type where they
/// have to agree.  libonnx's checker looks at neither; its inference has been here, so that the
/// types of all values that can be known are.  Throws CompileError that names file and node.
void check_types(const onnx::ModelProto& model, const std::string& path);

/// Whether it is of integers of 8 or 16 bits.
bool is_short_integer(int type);

} // namespace overtake::compiler
