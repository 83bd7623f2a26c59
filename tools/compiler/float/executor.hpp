// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
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
    /// Function that run_in_little_memory() calls with a value.
    using Look = std::function<void(ValueId id, const std::vector<float>& value)>;
    /// Does the same for arrays of the caller, in less memory: of the values that nodes make, the
    /// result has only the graph's outputs.  Calls `look` with each constant and input, then
    /// with each value when its node has made it.
    const FloatValues& run_in_little_memory(const std::vector<std::span<const float>>& inputs,
                                            const Look& look = {});

    /// Returns the values of the last run() as they would be if `id` held `value`, of its elements.
    /// Valid until the next call of any function.
    const FloatValues& run_with(ValueId id, std::vector<float> value);
    /// Restores the values of the last run() in the array that it returned.
    void put_back();

private:
    struct Convolution;
    void set_inputs(const std::vector<std::span<const float>>& inputs);
    std::vector<float> take_buffer(std::size_t elements);
    void give_back(ValueId id);
    void run_node(std::size_t index);
    cpu::Inputs inputs_of(const Node& node) const;

    const Graph& graph_;
    FloatValues values_;
    std::vector<std::vector<ValueId>> last_reads_;  // by node: see last_reads()
    std::vector<std::vector<float>> free_;          // free buffers
    std::vector<std::vector<std::size_t>> readers_; // for run_with()
    FloatValues kept_;            // of run(), by value, where run_with() has others
    std::vector<ValueId> others_; // the values in kept_
    std::vector<std::unique_ptr<Convolution>> convolutions_; // by node, null for other operators
    std::vector<cpu::Kernel> kernels_;                       // by node, for nodes on the CPU
};

} // namespace overtake::compiler
