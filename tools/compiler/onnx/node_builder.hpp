// SPDX-License-Identifier: MIT
//
// Nodes and constants that take the place of a node of an ONNX graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

#include "compiler/onnx/fresh_names.hpp"

namespace overtake::compiler {

void set_integers(onnx::NodeProto& node, const std::string& name,
                  const std::vector<std::int64_t>& numbers);
void set_integer(onnx::NodeProto& node, const std::string& name, std::int64_t number);
void set_real(onnx::NodeProto& node, const std::string& name, float number);
void set_text(onnx::NodeProto& node, const std::string& name, const std::string& text);

/// The first output that has a name; the node's name where none has.
const std::string& first_output_of(const onnx::NodeProto& node);

/// The node's name; where it has none, that of its first output that has one.
const std::string& node_name_of(const onnx::NodeProto& node);

/// All of them outlive it.
class NodeBuilder {
public:
    NodeBuilder(const onnx::NodeProto& replaced, onnx::GraphProto& graph, FreshNames& names)
        : replaced_(replaced), graph_(graph), names_(names) {}

    /// A node with one output; returns the output.  The latter returns the node, until the next.
    std::string operator()(const std::string& type, const std::vector<std::string>& inputs);
    onnx::NodeProto& node(const std::string& type, const std::vector<std::string>& inputs);
    /// The node that makes what the replaced one made, or this output of it.
    onnx::NodeProto& last(const std::string& type, const std::vector<std::string>& inputs,
                          int output = 0);

    // Nodes that the others often need.
    std::string cast(const std::string& tensor, int type);
    std::string reshaped(const std::string& tensor, const std::vector<std::int64_t>& shape);
    std::string transposed(const std::string& tensor, const std::vector<std::int64_t>& order);
    std::string unsqueezed(const std::string& tensor, const std::vector<std::int64_t>& axes);
    /// Without the axes.
    std::string summed(const std::string& tensor, const std::vector<std::int64_t>& axes);

    /// Constants; a single real has no dimensions.
    std::string real(float number);
    std::string reals(const std::vector<float>& numbers);
    std::string integers(const std::vector<std::int64_t>& numbers);
    std::string integers(const std::vector<std::int64_t>& numbers,
                         const std::vector<std::int64_t>& shape);
    std::string truths(const std::vector<bool>& values, const std::vector<std::int64_t>& shape);
    /// Of any type that numbers and truth values have; without dimensions.
    std::string number(int type, std::int64_t number);
    /// Zeros of int8 or uint8.
    std::string zero_point(int type, const std::vector<std::int64_t>& shape);

    /// The nodes, in order.
    std::vector<onnx::NodeProto> take() { return std::move(nodes_); }

private:
    onnx::TensorProto& constant(int type);

    const onnx::NodeProto& replaced_;
    onnx::GraphProto& graph_;
    FreshNames& names_;
    std::vector<onnx::NodeProto> nodes_;
    std::size_t constants_ = 0;
};

} // namespace overtake::compiler
