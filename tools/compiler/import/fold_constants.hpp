// SPDX-License-Identifier: MIT
//
// Operators whose inputs are all constants: computed during import, by the CPU's own kernels.
#pragma once

#include "compiler/import/context.hpp"

namespace overtake::compiler {

/// Computes the present node, whose inputs are all constants: its outputs become constants.  `cpu`
/// is its import for the CPU, or null.
void fold_constant(Context& context, Import cpu);

} // namespace overtake::compiler
