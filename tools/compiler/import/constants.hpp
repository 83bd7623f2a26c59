// SPDX-License-Identifier: MIT
//
// Operators that are constants once shapes are known.
#pragma once

#include "compiler/import/context.hpp"

namespace overtake::compiler {

void import_constant(Context& context);

/// Imports Shape and Size, which are known here, whatever the data.
void import_shape_constant(Context& context);

void import_constant_of_shape(Context& context);

void import_range_constant(Context& context);

} // namespace overtake::compiler
