// SPDX-License-Identifier: MIT
#pragma once

#include <onnx/onnx_pb.h>

namespace overtake::compiler {

/// The attribute of a Resize that comes from an opset before 11, where ONNX had no nearest_mode: it
/// rounds up where the size shrinks, and down otherwise.  libonnx has refused files that hold an
/// attribute of this name, which no operator has, before it is given.
constexpr const char* is_from_before_11 = "overtake_is_from_before_opset_11";

/// Upsample, and Resize before opset 11, know one rule for where an output lies on the input:
/// position / scale.  Opset 11 calls it asymmetric and has another one by default, which libonnx's
/// conversion leaves in place.  Names that rule in the nodes that a network of `opset` was
/// converted to.
void name_rule_of_old_resizes(onnx::ModelProto& converted, int opset);

} // namespace overtake::compiler
