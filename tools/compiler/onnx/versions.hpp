// SPDX-License-Identifier: MIT
//
// The versions of ONNX files that the compiler reads.
#pragma once

namespace overtake::compiler {

constexpr int oldest_opset = 6, newest_opset = 23;

/// The opset of networks that are passed to libonnx: the newest that every libonnx with which this
/// builds knows, and its version of the file format.
constexpr int known_opset = 17, known_ir_version = 8;

constexpr const char* opset_range = "6 to 23";

/// The opset of parts of graphs that are evaluated.
constexpr int opset_of_evaluation = 13;

} // namespace overtake::compiler
