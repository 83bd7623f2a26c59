// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/onnx/file.hpp"

namespace overtake::compiler {

/// Finds the nodes that write and read the tensors of an ONNX graph, for code that recognises
/// several nodes as one.  Nodes and their types may change while it is in use; none may be added or
/// removed.
class GraphIndex {
public:
    explicit GraphIndex(onnx::GraphProto& graph);

    /// Returns the node of this type that writes the tensor, or null.
    const onnx::NodeProto* writer(const std::string& name, const char* type) const;
    /// Returns the node of this type if it alone reads the tensor, or null.
    onnx::NodeProto* sole_reader(const std::string& name, const char* type) const;
    /// Returns the tensor's value, or null if it is computed.
    const onnx::TensorProto* constant(const std::string& name) const;
    /// Returns the tensor's static shape; empty if it is not known.
    std::vector<std::int64_t> shape(const std::string& name) const;

private:
    std::map<std::string, const onnx::TensorProto*> constants_;
    std::map<std::string, const onnx::NodeProto*> writers_;
    std::map<std::string, std::vector<onnx::NodeProto*>> readers_; // null: the graph's caller
    std::map<std::string, std::vector<std::int64_t>> shapes_;
};

} // namespace overtake::compiler
