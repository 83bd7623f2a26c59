// SPDX-License-Identifier: MIT
//
// Rewrites nodes of an ONNX graph as others, each operator by a rule of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

#include "compiler/onnx/file.hpp"
#include "compiler/onnx/node_builder.hpp"
#include "compiler/onnx/set_aside.hpp"
#include "compiler/onnx/tensor_facts.hpp"

namespace overtake::compiler {

/// The reason why a node cannot be rewritten, with the remedy.  Rules throw it; the node is set
/// aside.
struct CannotRewrite {
    std::string reason;
};

/// The node that a rule rewrites.  The nodes that the rule builds replace it; if the rule builds
/// none, the node stays as the rule has changed it.
struct Rewrite {
    onnx::NodeProto& node;
    int opset; ///< the file's
    const TensorFacts& facts;
    NodeBuilder build;
    /// Names of nodes that add to a value of the step before; they need 16 bits.
    std::vector<std::string> accumulators = {};

    Attributes attributes() const { return Attributes(node); }
    bool has_input(int index) const;
    bool has_output(int index) const;
    /// The following throw CannotRewrite.  `what` is plural: "axes".
    std::vector<std::int64_t> constant(int index, const char* what) const;
    std::size_t rank(const std::string& tensor) const;
    std::vector<std::int64_t> shape(const std::string& tensor) const;
    int type(const std::string& tensor) const;
    /// Returns the axes counted from the front.
    std::vector<std::int64_t> axes_in(std::size_t rank, std::vector<std::int64_t> axes) const;
};

using RewriteRule = void (*)(Rewrite&);
/// Rules by the operator of ONNX's own domain.
using RewriteRules = std::map<std::string, RewriteRule>;

/// Applies the rules, also in graphs in nodes.  Rules know the types and shapes that the graph has
/// for its tensors.
void rewrite_nodes(onnx::ModelProto& model, int opset, const RewriteRules& rules,
                   Refusals& refusals);

/// Whether a rule is for one of the graph's nodes.
bool has_any(const onnx::GraphProto& graph, const RewriteRules& rules);

} // namespace overtake::compiler
