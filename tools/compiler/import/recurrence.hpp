// SPDX-License-Identifier: MIT
//
// Which RNN, GRU and LSTM are computed on the device, one step behind the other.
#pragma once

#include "compiler/import/context.hpp"

namespace overtake::compiler {

/// Whether the node at hand is one of them that has a form there and that the options want there.
/// Others are left to the CPU, refusals too.
bool is_unrolled(const Context& context);

} // namespace overtake::compiler
