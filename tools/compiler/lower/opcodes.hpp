// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "compiler/ir/graph.hpp"

namespace overtake::compiler {

/// Bit k: instructions of the node may have opcode k, wherever its values are and however it is
/// cut.  0 for a node of the CPU.
std::uint64_t opcodes_of(const Graph& graph, const Node& node);

} // namespace overtake::compiler
