// SPDX-License-Identifier: MIT
//
// Operators that only give a tensor another name or shape, on either processor.
#pragma once

#include "compiler/import/context.hpp"

namespace overtake::compiler {

void import_flatten(Context& context);

/// A 0 keeps a dimension, and -1 takes all remaining elements.
void import_reshape(Context& context);

void import_squeeze(Context& context);

void import_unsqueeze(Context& context);

void import_alias(Context& context);

} // namespace overtake::compiler
