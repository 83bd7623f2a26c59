// SPDX-License-Identifier: MIT
//
// Operators that only give a tensor another name or shape, wherever it is.
#pragma once

#include "compiler/import/context.hpp"

namespace overtake::compiler {

void import_flatten(Context& context);

/// 0 keeps a dimension, -1 is whatever is left.
void import_reshape(Context& context);

void import_squeeze(Context& context);

void import_unsqueeze(Context& context);

void import_alias(Context& context);

} // namespace overtake::compiler
