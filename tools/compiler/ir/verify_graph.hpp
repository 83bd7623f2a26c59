// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "compiler/ir/graph.hpp"

namespace overtake::compiler {

/// Returns why the node cannot compute its output from its inputs, or nothing.  A node that passes
/// neither reads nor writes beyond its values, in float and on the device, whatever the data:
/// executors and lowering rely on it and do not check again.
std::string check_node(const Graph& graph, const Node& node);

} // namespace overtake::compiler
