// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "compiler/ir/graph.hpp"

namespace overtake::compiler {

/// Every value of a graph for one sample, by ValueId; elements in ONNX's order.
using FloatValues = std::vector<std::vector<float>>;

/// Runs a graph in float32; convolutions through oneDNN.  Not thread-safe; the graph outlives it
/// and does not change.
class FloatExecutor {
public:
    explicit FloatExecutor(const Graph& graph);
    ~FloatExecutor();

    /// `inputs` holds one array for each of the graph's inputs, of exactly its elements.
    /// The result is valid until the next run.
    const FloatValues& run(const FloatValues& inputs);
    /// The same for arrays that lie elsewhere.
    const FloatValues& run_on(const std::vector<std::span<const float>>& inputs);

private:
    struct Convolution;
    void run_node(std::size_t index);
    cpu::Inputs inputs_of(const Node& node) const;

    const Graph& graph_;
    FloatValues values_;
    std::vector<std::unique_ptr<Convolution>> convolutions_; // by node, null for other operators
    std::vector<cpu::Kernel> kernels_;                       // by node, of those on the CPU
};

} // namespace overtake::compiler
