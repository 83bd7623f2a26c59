// SPDX-License-Identifier: MIT
//
// GlobalMaxPool and GlobalAveragePool on the device.
#pragma once

#include "compiler/import/context.hpp"

namespace overtake::compiler {

void add_global_pool(Context& context, op::Pool::Kind kind, bool keeps_dimensions);

} // namespace overtake::compiler
