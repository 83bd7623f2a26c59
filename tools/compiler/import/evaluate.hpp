// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>

#include "compiler/import/context.hpp"
#include "compiler/import/operators.hpp"

namespace overtake::compiler {

/// Whether the node at hand only makes constants, which it has then.
bool is_made_constant(Context& context, const Row& row);

/// The constants that a model makes of constants and of the shapes of its inputs, as far as they
/// can be computed without a difference to ONNX's own types: integers in 64 bits, DOUBLE where
/// float32 makes none.
std::map<std::string, Constant> evaluate(const std::string& path, const ImportOptions& options,
                                         const onnx::ModelProto& model);

} // namespace overtake::compiler
