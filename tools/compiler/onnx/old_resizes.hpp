// SPDX-License-Identifier: MIT
#pragma once

#include <set>
#include <string>

#include <onnx/onnx_pb.h>

namespace overtake::compiler {

/// The attribute of a Resize that comes from an opset before 11, where ONNX had no nearest_mode: it
/// rounds up where the size shrinks, and down otherwise.  libonnx has refused files that hold an
/// attribute of this name, which no operator has, before it is given.
constexpr const char* is_from_before_11 = "overtake_is_from_before_opset_11";

/// Upsample, and Resize before opset 11, know one rule for where an output lies on the input:
/// position / scale.  Opset 11 calls it asymmetric and has another one by default, which libonnx's
/// conversion leaves in place.
class OldResizes {
public:
    /// Before conversion.
    explicit OldResizes(const onnx::ModelProto& model, int opset);
    /// Says so in the nodes that they have become.
    void name_their_rule(onnx::ModelProto& converted) const;

private:
    std::set<std::string> outputs_;
};

} // namespace overtake::compiler
