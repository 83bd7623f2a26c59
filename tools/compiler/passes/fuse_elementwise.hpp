// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <optional>

#include "compiler/ir/graph.hpp"

namespace overtake::compiler {

/// Makes one activation, which is one table, of every value that is computed element by element
/// from one other value: SiLU is x * sigmoid(x), GELU and Mish are longer.  If the model rounds a
/// value in between to a quantisation that it gives, the table rounds as well.  Does not remove
/// nodes whose output is no longer read.
void fuse_elementwise(Graph& graph);

/// A node that computes out = in * factor + offset, with the same numbers for all channels, and
/// nothing else.  uniform_scaling() returns nothing for other nodes.
struct UniformScaling {
    float factor;
    float offset;
};
std::optional<UniformScaling> uniform_scaling(const Graph& graph, const Node& node);

/// Returns the node that writes a value; null if there is none.
using WriterOf = std::function<const Node*(ValueId)>;

/// Returns the value of which `value` is a function, element by element; `value` itself if there is
/// no such value.
ValueId element_root(const Graph& graph, ValueId value, const WriterOf& writer_of);

/// Whether the node is a depthwise convolution of one tap whose output is as large as its input.
bool is_scaling(const Graph& graph, const Node& node);

} // namespace overtake::compiler
