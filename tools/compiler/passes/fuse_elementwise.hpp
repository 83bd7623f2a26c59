// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <optional>

#include "compiler/ir/graph.hpp"

namespace overtake::compiler {

/// Makes one activation, which is one table, of every value that is computed element by element of
/// one other value: SiLU is x * sigmoid(x), GELU and Mish are longer.  What the model rounds on the
/// way to a quantisation that it gives is rounded in the table as well.  Leaves nodes behind that
/// nothing reads any more.
void fuse_elementwise(Graph& graph);

/// out = in * factor + offset with the same numbers for all channels, and nothing else; nothing for
/// other nodes.
struct UniformScaling {
    float factor;
    float offset;
};
std::optional<UniformScaling> uniform_scaling(const Graph& graph, const Node& node);

/// The node that writes a value; null if none does.
using WriterOf = std::function<const Node*(ValueId)>;

/// The value that `value` is a function of, element by element; itself if there is none.
ValueId element_root(const Graph& graph, ValueId value, const WriterOf& writer_of);

/// Whether the node is a depthwise convolution of one tap, whose output is as large as its input.
bool is_scaling(const Graph& graph, const Node& node);

} // namespace overtake::compiler
