// SPDX-License-Identifier: MIT
//
// Operators that import has no form for, written as others that mean the same.
#pragma once

#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

#include "compiler/onnx/libonnx.hpp"
#include "compiler/onnx/rewrite.hpp"
#include "compiler/onnx/set_aside.hpp"

namespace overtake::compiler {

/// Of a graph with the shapes and types of its tensors, in opset 13 to 17.  A node that has no
/// other form is set aside.
void decompose(onnx::ModelProto& model, Libonnx& libonnx, Refusals& refusals);

/// Names of the operators that decompose() and lower_to_known_opset() write as others, wherever
/// they have that form.
std::vector<std::string> decomposed_operators();

// Rules of files of their own.
void decompose_einsum(Rewrite& r);
void decompose_gather_nd(Rewrite& r);
void decompose_scatter_nd(Rewrite& r);
void decompose_one_hot(Rewrite& r);

} // namespace overtake::compiler
