// SPDX-License-Identifier: MIT
#pragma once

#include "compiler/import/context.hpp"

namespace overtake::compiler {

/// Computes the present node in 64-bit integers if its inputs are constant integers or truth
/// values, and its operator is one from which shapes and conditions are made: its output becomes a
/// constant.  Returns false for any other node.  Refuses the node if the result does not fit its
/// type.
bool fold_integers(Context& context);

} // namespace overtake::compiler
