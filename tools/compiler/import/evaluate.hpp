// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>

#include "compiler/import/context.hpp"
#include "compiler/import/operators.hpp"

namespace overtake::compiler {

/// Whether the present node only makes constants; then it has been computed.
bool is_made_constant(Context& context, const Row& row);

/// Returns the constants that a model makes from constants and from the shapes of its inputs.
/// Computes only those that are the same as in ONNX's own types: integers in 64 bits, and DOUBLE if
/// float32 makes no difference.
std::map<std::string, Constant> evaluate(const std::string& path, const ImportOptions& options,
                                         const onnx::ModelProto& model);

} // namespace overtake::compiler
