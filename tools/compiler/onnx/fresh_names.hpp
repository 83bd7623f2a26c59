// SPDX-License-Identifier: MIT
//
// Names for tensors that are added to an ONNX graph.
#pragma once

#include <set>
#include <string>

#include <onnx/onnx_pb.h>

namespace overtake::compiler {

/// Knows every name of a tensor in a graph: inputs, initializers, what nodes read and write, and
/// the same in the graphs that its nodes hold.
class FreshNames {
public:
    explicit FreshNames(const onnx::GraphProto& graph);

    /// The name that is wanted, or a longer one if it is taken; taken from now on.
    std::string take(const std::string& wanted);

private:
    void add(const onnx::GraphProto& graph);

    std::set<std::string> names_;
};

/// The name wanted, or one like it that is not among `names`; it is then.
std::string fresh_name(std::string wanted, std::set<std::string>& names);

} // namespace overtake::compiler
