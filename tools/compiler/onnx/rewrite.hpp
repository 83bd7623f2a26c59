// SPDX-License-Identifier: MIT
//
// Nodes of an ONNX graph written as others, each operator by a rule of its own.
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

/// Why a node cannot be rewritten, and what would help.  Rules throw it; the node is set aside.
struct CannotRewrite {
    std::string reason;
};

/// The node at hand.  What a rule builds takes its place; a rule that builds nothing leaves it, as
/// it has changed it.
struct Rewrite {
    onnx::NodeProto& node;
    int opset; ///< of the file
    const TensorFacts& facts;
    NodeBuilder build;
    /// Names of nodes built that add to what the step before has left; they want 16 bits.
    std::vector<std::string> accumulators = {};

    Attributes attributes() const { return Attributes(node); }
    bool has_input(int index) const;
    bool has_output(int index) const;
    /// These throw CannotRewrite.  `what` is plural: "axes".
    std::vector<std::int64_t> constant(int index, const char* what) const;
    std::size_t rank(const std::string& tensor) const;
    std::vector<std::int64_t> shape(const std::string& tensor) const;
    int type(const std::string& tensor) const;
    /// Counted from the front.
    std::vector<std::int64_t> axes_in(std::size_t rank, std::vector<std::int64_t> axes) const;
};

using RewriteRule = void (*)(Rewrite&);
/// By the operator of ONNX's own domain.
using RewriteRules = std::map<std::string, RewriteRule>;

/// Also in the graphs that nodes hold.  What the graph says of its tensors is what rules know.
void rewrite_nodes(onnx::ModelProto& model, int opset, const RewriteRules& rules,
                   Refusals& refusals);

/// Whether a rule is for one of the graph's nodes.
bool has_any(const onnx::GraphProto& graph, const RewriteRules& rules);

} // namespace overtake::compiler
