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

/// Puts the branch that is taken in the place of each If whose condition follows from constants and
/// from shapes, over and over as one leads to another, and computes the constants on the way.
/// `evaluate` is asked for them in graphs that have no inputs.  An If whose condition is only known
/// at run time becomes both branches and a choice between their outputs, and a warning, where those
/// have one shape.  A Loop whose number of trips follows from constants becomes its body, so many
/// times; one that is too long for that is refused.  Leaves other nodes with graphs in them alone.
void fold_conditions(onnx::ModelProto& model, int opset, Libonnx& libonnx, const Evaluate& evaluate,
                     Refusals& refusals, const std::function<void(const std::string&)>& warn);

/// Why nodes of a graph that still have graphs in them cannot be taken.
class ReasonsOfControlFlow {
public:
    /// The graph's nodes are in order.
    explicit ReasonsOfControlFlow(const onnx::GraphProto& graph);
    std::string of(const onnx::NodeProto& node) const;
    /// Whether the tensor is computed from inputs of the graph.
    bool follows_from_inputs(const std::string& tensor) const;

private:
    static constexpr std::size_t most_named = 3; // inputs in a message

    // What a tensor is computed from.
    struct Origin {
        std::set<std::string> inputs; // the first of them, and one more than are named
        bool is_random = false;
    };

    std::unordered_map<std::string, Origin> origins_;
};

} // namespace overtake::compiler
