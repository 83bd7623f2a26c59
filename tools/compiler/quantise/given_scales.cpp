// SPDX-License-Identifier: MIT
#include "compiler/quantise/given_scales.hpp"

#include <algorithm>
#include <vector>

#include "compiler/quantise/quantise.hpp"

namespace overtake::compiler {
namespace {

// Whether rounding the input is the same as rounding the output: the node returns elements of its
// inputs, or the greatest of them, and does no more than clamp them.
bool commutes_with_rounding(const Node& node) {
    if (const auto* resize = node.as<op::Resize>())
        return resize->kind == op::Resize::Kind::nearest;
    const auto* activation = node.as<op::Activation>();
    return keeps_quantisation(node) || (activation && !activation->function);
}

// Gives the outputs of nodes that move elements the quantisation of their inputs.
void spread_forwards(Graph& graph) {
    for (const Node& node : graph.nodes) {
        const auto& first = graph.values[node.inputs[0]].given;
        if (graph.values[node.output].given || !first || !keeps_quantisation(node) ||
            !commutes_with_rounding(node))
            continue;
        const bool is_alike = std::ranges::all_of(
            node.inputs, [&](ValueId input) { return graph.values[input].given == first; });
        const auto* pad = node.as<op::Pad>();
        const bool fills = gathers_quantisation(node) && pad;
        if (is_alike && (!fills || first->real(first->nearest(pad->fill)) == pad->fill))
            graph.values[node.output].given = first;
    }
}

// Gives the inputs of such nodes the quantisation of their outputs, if no other node reads them.
void spread_backwards(Graph& graph) {
    const std::vector<std::size_t> uses = count_uses(graph);
    for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
        const auto& given = graph.values[node->output].given;
        if (!given || !node->on_bpu() || !commutes_with_rounding(*node))
            continue;
        for (ValueId input : node->inputs)
            if (!graph.values[input].given && uses[input] == 1)
                graph.values[input].given = given;
    }
}

} // namespace

void spread_given_scales(Graph& graph) {
    spread_forwards(graph);
    spread_backwards(graph);
    spread_forwards(graph);
}

std::set<std::string> nodes_without_scales(const Graph& graph) {
    std::set<std::string> result;
    const auto lacks = [&](ValueId value) { return !graph.values[value].given; };
    for (const Node& node : graph.nodes) {
        if (!node.on_bpu())
            continue;
        const auto* convolution = node.as<op::Convolution>();
        const auto& input = graph.values[node.inputs[0]].given;
        // An interpolating node has its input's scale, and would be rounded to that first.
        const bool changes_scale = keeps_quantisation(node) && !gathers_quantisation(node) &&
                                   graph.values[node.output].given != input;
        if (changes_scale || lacks(node.output) || std::ranges::any_of(node.inputs, lacks) ||
            (convolution && input && !has_exact_weights(*convolution, input->scale)))
            result.insert(node.name);
    }
    return result;
}

} // namespace overtake::compiler
