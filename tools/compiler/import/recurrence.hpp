// SPDX-License-Identifier: MIT
//
// Chooses the RNN, GRU and LSTM that are computed on the device, one step after the other.
#pragma once

#include <string>

#include "compiler/import/context.hpp"

namespace overtake::compiler {

/// Returns why the present node, an RNN, GRU or LSTM, is not computed on the device; empty if it
/// is.  The CPU's import refuses a node that is damaged.
std::string why_on_cpu(const Context& context);

} // namespace overtake::compiler
