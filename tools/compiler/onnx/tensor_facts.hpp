// SPDX-License-Identifier: MIT
//
// TensorFacts: types, shapes and constants of tensors, as a file has them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

namespace overtake::compiler {

/// The tensors of a graph and of the graphs in its nodes, copied from them.
class TensorFacts {
public:
    explicit TensorFacts(const onnx::GraphProto& graph) { add(graph); }

    /// Sets the type of a tensor, in place of its type in the graph.
    void set_type(const std::string& tensor, int type) { facts_[tensor].type = type; }
    std::optional<int> type(const std::string& tensor) const;
    std::optional<std::size_t> rank(const std::string& tensor) const;
    /// Returns the shape if all sizes are known.
    std::optional<std::vector<std::int64_t>> shape(const std::string& tensor) const;
    /// Return the elements of a short constant; nothing for other tensors.
    std::optional<std::vector<std::int64_t>> integers(const std::string& tensor) const;
    std::optional<std::vector<float>> reals(const std::string& tensor) const;

private:
    struct Fact {
        int type = 0;
        bool has_rank = false;
        std::vector<std::int64_t> sizes; ///< -1: open
    };

    void add(const onnx::GraphProto& graph);
    void add(const onnx::ValueInfoProto& info);
    void add_constant(const std::string& name, const onnx::TensorProto& tensor);
    void add_list(const std::string& name, const onnx::AttributeProto& attribute);

    std::map<std::string, Fact> facts_;
    std::map<std::string, onnx::TensorProto> constants_;
};

} // namespace overtake::compiler
