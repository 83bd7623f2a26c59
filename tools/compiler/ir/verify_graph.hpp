// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "compiler/ir/graph.hpp"

namespace overtake::compiler {

/// Why the node cannot compute its output from its inputs, or nothing.  What passes neither reads
/// nor writes beyond its values, in float and on the device, whatever the data: executors and
/// lowering rely on it and do not look again.
std::string check_node(const Graph& graph, const Node& node);

} // namespace overtake::compiler
