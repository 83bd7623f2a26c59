// SPDX-License-Identifier: MIT
#include "compiler/accuracy/outputs.hpp"

#include <algorithm>
#include <limits>

#include "compiler/quantise/best_method.hpp"

namespace overtake::compiler {

std::vector<NodeSimilarity> compare_outputs(const Candidate& candidate,
                                            std::span<const FloatValues> samples,
                                            const OutputUses& uses,
                                            const std::function<void(double)>& progress) {
    const Graph& graph = candidate.graph;
    const std::vector<NodeSimilarity> nodes = compare_with_float(
        graph, candidate.quantised, candidate.program, samples, Alone::no, uses, progress);
    std::vector<NodeSimilarity> outputs;
    for (const ValueId output : graph.outputs) {
        const auto writer = std::ranges::find(graph.nodes, output, &Node::output);
        constexpr float none = std::numeric_limits<float>::quiet_NaN();
        outputs.push_back(writer == graph.nodes.end()
                              ? NodeSimilarity{1, 0, 0, 0, none, none, none}
                              : nodes[static_cast<std::size_t>(writer - graph.nodes.begin())]);
    }
    for (const Decision& decision : uses.decisions) {
        const auto writer = std::ranges::find(graph.nodes, decision.value, &Node::output);
        if (writer == graph.nodes.end())
            continue;
        const NodeSimilarity& of_node =
            nodes[static_cast<std::size_t>(writer - graph.nodes.begin())];
        outputs[decision.output].same_decisions = of_node.same_decisions;
        outputs[decision.output].expected_decisions = of_node.expected_decisions;
    }
    return outputs;
}

std::vector<float> errors_of(const std::vector<NodeSimilarity>& outputs) {
    std::vector<float> errors;
    for (const NodeSimilarity& output : outputs)
        errors.push_back(output_error(output.error, output.saturated));
    return errors;
}

} // namespace overtake::compiler
