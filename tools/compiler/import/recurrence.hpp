// SPDX-License-Identifier: MIT
//
// Which RNN, GRU and LSTM are computed on the device, one step after the other.
#pragma once

#include <string>

#include "compiler/import/context.hpp"

namespace overtake::compiler {

/// Why the node at hand, which is one of them, is not computed on the device; empty where it is.
/// What damages it is for the CPU's import to refuse.
std::string why_on_cpu(const Context& context);

} // namespace overtake::compiler
