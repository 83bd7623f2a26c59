// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "compiler/ir/graph.hpp"

namespace overtake::compiler {

/// Returns the opcodes that instructions of the node may have, wherever its values are and however
/// it is cut.  Bit k stands for opcode k.  Returns 0 for a node of the CPU.
std::uint64_t opcodes_of(const Graph& graph, const Node& node);

} // namespace overtake::compiler
