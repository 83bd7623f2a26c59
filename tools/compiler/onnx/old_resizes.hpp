// SPDX-License-Identifier: MIT
#pragma once

#include <onnx/onnx_pb.h>

namespace overtake::compiler {

/// The attribute of a Resize that comes from an opset before 11, where ONNX had no nearest_mode:
/// such a Resize rounds up where the size shrinks, and down otherwise.  No operator of ONNX has
/// this attribute, so libonnx refuses files that have it before it is added.
constexpr const char* is_from_before_11 = "overtake_is_from_before_opset_11";

/// Upsample, and Resize before opset 11, have one rule for the position of an output on the input:
/// position / scale.  Opset 11 calls this rule asymmetric and has another by default, which
/// libonnx's conversion leaves in place.  Names the old rule in the nodes to which a network of
/// `opset` was converted.
void name_rule_of_old_resizes(onnx::ModelProto& converted, int opset);

} // namespace overtake::compiler
