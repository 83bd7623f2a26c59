// SPDX-License-Identifier: MIT
//
// Operators whose inputs are all constants: computed here and now, by the CPU's own kernels.
#pragma once

#include "compiler/import/context.hpp"

namespace overtake::compiler {

/// Computes the node at hand, whose inputs are all constants: its outputs become constants.  `cpu`
/// is its import for the CPU, or null.
void fold_constant(Context& context, Import cpu);

} // namespace overtake::compiler
