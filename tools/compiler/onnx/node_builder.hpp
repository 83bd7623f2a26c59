// SPDX-License-Identifier: MIT
//
// NodeBuilder: makes nodes and constants that replace a node of an ONNX graph.
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

/// Returns the first output that has a name; the node's name if none has.
const std::string& first_output_of(const onnx::NodeProto& node);

/// Returns the node's name; if it has none, the first output that has a name.
const std::string& node_name_of(const onnx::NodeProto& node);

/// The arguments of the constructor outlive it.
class NodeBuilder {
public:
    NodeBuilder(const onnx::NodeProto& replaced, onnx::GraphProto& graph, FreshNames& names)
        : replaced_(replaced), graph_(graph), names_(names) {}

    /// Adds a node with one output.  operator() returns the output; node() returns the node, which
    /// is valid until the next one is added.
    std::string operator()(const std::string& type, const std::vector<std::string>& inputs);
    onnx::NodeProto& node(const std::string& type, const std::vector<std::string>& inputs);
    /// Adds the node that makes the replaced node's output number `output`.
    onnx::NodeProto& last(const std::string& type, const std::vector<std::string>& inputs,
                          int output = 0);

    // Nodes that rules often need.
    std::string cast(const std::string& tensor, int type);
    std::string reshaped(const std::string& tensor, const std::vector<std::int64_t>& shape);
    std::string transposed(const std::string& tensor, const std::vector<std::int64_t>& order);
    std::string unsqueezed(const std::string& tensor, const std::vector<std::int64_t>& axes);
    /// Returns the sum over `axes`, without these axes.
    std::string summed(const std::string& tensor, const std::vector<std::int64_t>& axes);

    /// The next functions return constants; a single real has no dimensions.
    std::string real(float number);
    std::string reals(const std::vector<float>& numbers);
    std::string integers(const std::vector<std::int64_t>& numbers);
    std::string integers(const std::vector<std::int64_t>& numbers,
                         const std::vector<std::int64_t>& shape);
    std::string truths(const std::vector<bool>& values, const std::vector<std::int64_t>& shape);
    /// Returns a constant of any type of numbers or truth values, without dimensions.
    std::string number(int type, std::int64_t number);
    /// Returns a constant of zeros, int8 or uint8.
    std::string zero_point(int type, const std::vector<std::int64_t>& shape);

    /// Returns the nodes, in order.
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
