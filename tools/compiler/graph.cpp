// SPDX-License-Identifier: MIT
#include "graph.hpp"

namespace overtake::compiler {

std::uint64_t multiply_accumulates(const Graph& graph, const Node& node) {
    const Value& output = graph.values[node.output];
    const std::uint64_t window =
        std::uint64_t{node.window.kernel_height} * node.window.kernel_width;
    switch (node.op) {
    case Operator::convolution:
        return output.elements() * window * (graph.values[node.inputs[0]].channels / node.groups);
    case Operator::depthwise:
        return output.elements() * window;
    case Operator::transposed_convolution:
        return graph.values[node.inputs[0]].elements() * window * (output.channels / node.groups);
    default:
        return 0;
    }
}

bool keeps_quantisation(const Node& node) {
    switch (node.op) {
    case Operator::max_pool:
    case Operator::copy:
    case Operator::concat:
    case Operator::slice:
    case Operator::resize_nearest:
    case Operator::resize_bilinear:
        return true;
    default:
        return false;
    }
}

std::string describe(const Node& node) {
    return "node '" + node.name + "' (" + node.onnx_type + ")";
}

std::vector<std::size_t> count_uses(const Graph& graph) {
    std::vector<std::size_t> uses(graph.values.size());
    for (const Node& node : graph.nodes)
        for (ValueId input : node.inputs)
            ++uses[input];
    for (ValueId output : graph.outputs)
        ++uses[output];
    return uses;
}

} // namespace overtake::compiler
