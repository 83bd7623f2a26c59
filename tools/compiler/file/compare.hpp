// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "compiler/inputs/decisions.hpp"
#include "compiler/inputs/states.hpp"
#include "compiler/ir/program.hpp"
#include "compiler/quantise/calibrate.hpp"
#include "compiler/quantise/quantise.hpp"

namespace overtake::compiler {

/// Whether each node is also run alone, for its own error.
enum class Alone { no, yes };

/// The nearness of the output of a node to float, over all samples.
struct NodeSimilarity {
    float cosine; ///< similarity; 1 where both are zero, NaN where float has no finite element
    float error;  ///< root mean square of the difference over that of float
    /// The error with inputs of float, rounded if the device holds them: it is due to the node
    /// itself and to the rounding of its inputs.  NaN if nodes were not run alone.
    float own_error;
    /// Share of the elements that lie, in float, more than a step beyond the range of 8 bits, or of
    /// 16 if the value has them.
    float saturated;
    /// The cosine of the numbers with the rarer sign (SignSimilarity), for an output of the graph.
    float rarer_sign;
    /// The share of decisions that are those of float (DecisionSimilarity), for a tensor of
    /// decisions.  NaN for others.
    float same_decisions;
    float expected_decisions; ///< share to be expected of other samples; NaN also if there are many
    /// The LogitSimilarity, for a tensor that may hold logits.  NaN for others.
    float logits = std::numeric_limits<float>::quiet_NaN();
};

/// The use of the graph's outputs.
struct OutputUses {
    std::vector<StateLink> states;     ///< as inputs of the next sample
    std::vector<Decision> decisions;   ///< by their greatest number
    double tie = 0;                    ///< see DecisionSimilarity
    std::vector<Decision> logits = {}; ///< perhaps, by their Softmax: see LogitSimilarity
};

/// Runs the program with the device's own operators and the graph in float over `samples`, and
/// compares the output of each node, by node.  With states, the samples are steps of a sequence,
/// and the program's states are the outputs that it computed itself in the step before.  `progress`
/// is called with 0..1.
std::vector<NodeSimilarity> compare_with_float(const Graph& graph, const QuantisedGraph& quantised,
                                               const Program& program,
                                               std::span<const FloatValues> samples, Alone alone,
                                               const OutputUses& uses,
                                               const std::function<void(double)>& progress);

} // namespace overtake::compiler
