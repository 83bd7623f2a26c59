// SPDX-License-Identifier: MIT
//
// Products of matrices on the CPU.
#pragma once

#include "compiler/import/context.hpp"

namespace overtake::compiler {

Reference cpu_product(Context& context, Reference left, Reference right);

} // namespace overtake::compiler
