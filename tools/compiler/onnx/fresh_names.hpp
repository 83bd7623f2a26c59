// SPDX-License-Identifier: MIT
//
// FreshNames: makes names for tensors that are added to an ONNX graph.
#pragma once

#include <set>
#include <string>

#include <onnx/onnx_pb.h>

namespace overtake::compiler {

/// Knows every name of a tensor in a graph (inputs, initializers, tensors that nodes read and
/// write) and in the graphs in its nodes.
class FreshNames {
public:
    explicit FreshNames(const onnx::GraphProto& graph);

    /// Returns `wanted`, or a longer name if that is taken.  The name is taken from then on.
    std::string take(const std::string& wanted);

private:
    void add(const onnx::GraphProto& graph);

    std::set<std::string> names_;
};

/// Returns `wanted`, or a similar name that is not among `names`, and adds it to them.
std::string fresh_name(std::string wanted, std::set<std::string>& names);

} // namespace overtake::compiler
