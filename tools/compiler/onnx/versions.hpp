// SPDX-License-Identifier: MIT
//
// Which versions of ONNX files are read.
#pragma once

namespace overtake::compiler {

constexpr int oldest_opset = 6, newest_opset = 23;

/// In which networks are handed to libonnx: the newest that every libonnx that this builds with
/// knows, and its version of the file format.
constexpr int known_opset = 17, known_ir_version = 8;

constexpr const char* opset_range = "6 to 23";

/// That libonnx evaluates parts of graphs in.
constexpr int opset_of_evaluation = 13;

} // namespace overtake::compiler
