// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <unordered_map>

#include <onnx/onnx_pb.h>

#include "compiler/onnx/file.hpp"
#include "compiler/onnx/libonnx.hpp"
#include "compiler/onnx/set_aside.hpp"

namespace overtake::compiler {

/// Replaces each If whose condition follows from constants and from shapes by the branch that is
/// taken, and repeats this while it finds others.  `evaluate` computes the constants on the way, in
/// graphs that have no inputs.  An If whose condition is known only at run time becomes both
/// branches and a choice between their outputs, with a warning, if these have the same shape.  A
/// Loop whose number of trips follows from constants becomes its body, once for each trip; a Loop
/// that is too long for that is refused.  Other nodes with graphs in them stay.
void fold_conditions(onnx::ModelProto& model, int opset, Libonnx& libonnx, const Evaluate& evaluate,
                     Refusals& refusals, const std::function<void(const std::string&)>& warn);

/// Explains why nodes of a graph that still have graphs in them cannot be imported.
class ReasonsOfControlFlow {
public:
    /// The nodes of `graph` are in order.
    explicit ReasonsOfControlFlow(const onnx::GraphProto& graph);
    std::string of(const onnx::NodeProto& node) const;
    /// Whether the tensor is computed from inputs of the graph.
    bool follows_from_inputs(const std::string& tensor) const;

private:
    static constexpr std::size_t most_named = 3; // inputs in a message

    // The inputs that a tensor is computed from.
    struct Origin {
        std::set<std::string> inputs; // the first ones, one more than messages name
        bool is_random = false;
    };

    std::unordered_map<std::string, Origin> origins_;
};

} // namespace overtake::compiler
