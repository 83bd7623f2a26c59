// SPDX-License-Identifier: MIT
//
// Rules that write operators which import has no form for as other operators that mean the same.
#pragma once

#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

#include "compiler/onnx/rewrite.hpp"

namespace overtake::compiler {

/// Rules for nodes of opset 13 to 17.  Shapes and types of their inputs are known.
const RewriteRules& decompositions();

/// Rules for operators of ONNX Runtime's domain, com.microsoft.
const RewriteRules& fused_operators();

/// Names of the operators that are always written as others, by these rules or by those of
/// lower_to_known_opset().
std::vector<std::string> decomposed_operators();

// Rules in files of their own.
void decompose_einsum(Rewrite& r);
void decompose_gather_nd(Rewrite& r);
void decompose_scatter_nd(Rewrite& r);
void decompose_one_hot(Rewrite& r);
void decompose_max_unpool(Rewrite& r);

/// Decomposes an RNN, GRU or LSTM with constant weights, whose sequences all have all steps and
/// whose inputs fit each other.
void decompose_recurrence(Rewrite& r);

} // namespace overtake::compiler
