// SPDX-License-Identifier: MIT
#pragma once

#include "compiler/import/context.hpp"

namespace overtake::compiler {

/// Computes the node at hand in 64-bit integers if its inputs are constant integers or truth values
/// and its operator is one of those that shapes and conditions are made of: its output becomes a
/// constant.  False for any other node.  Refuses the node where the result does not fit its type.
bool fold_integers(Context& context);

} // namespace overtake::compiler
