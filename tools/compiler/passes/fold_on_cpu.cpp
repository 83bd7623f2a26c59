// SPDX-License-Identifier: MIT
#include "compiler/passes/fold_on_cpu.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "cpu/operation.hpp"

namespace overtake::compiler {
namespace {

// What a node does to each channel of its input.
struct ChannelFunction {
    ValueId input;
    std::vector<float> constant;
    bool multiplies;
};

// One number for each channel, however the constant is broadcast; empty if it is not.
std::vector<float> by_channel(const Value& constant, const Value& whole) {
    const std::size_t rank = whole.shape.size(), lacking = rank - constant.shape.size();
    if (constant.shape.size() > rank || rank < 3)
        return {};
    const auto channels = static_cast<std::size_t>(whole.shape[1]);
    if (constant.constant.size() == 1)
        return std::vector<float>(channels, constant.constant[0]);
    if (constant.constant.size() != channels || lacking > 1 ||
        constant.shape[1 - lacking] != whole.shape[1])
        return {};
    return constant.constant;
}

std::optional<ChannelFunction> channel_function(const Graph& graph, const Node& node) {
    const auto* form = node.as<op::Cpu>();
    if (!form || form->type != CpuOpType::binary || node.inputs.size() != 2 || node.is_clamped())
        return std::nullopt;
    const auto function = static_cast<cpu::Binary>(form->integers[0]);
    if (function != cpu::Binary::multiply && function != cpu::Binary::add)
        return std::nullopt;
    const bool is_first = graph.values[node.inputs[0]].is_constant();
    const ValueId input = node.inputs[is_first ? 1 : 0], other = node.inputs[is_first ? 0 : 1];
    const Value& whole = graph.values[input];
    if (whole.is_constant() || !graph.values[other].is_constant() ||
        graph.values[node.output].shape != whole.shape)
        return std::nullopt;
    std::vector<float> constant = by_channel(graph.values[other], whole);
    if (constant.empty())
        return std::nullopt;
    return ChannelFunction{input, std::move(constant), function == cpu::Binary::multiply};
}

bool takes_functions(const Graph& graph, const Node& node) {
    const auto* form = node.as<op::Cpu>();
    if (!form || form->type != CpuOpType::convolution || form->integers[0] != 0 ||
        node.is_clamped() || graph.values[node.output].given)
        return false;
    return std::all_of(node.inputs.begin() + 1, node.inputs.end(),
                       [&](ValueId input) { return graph.values[input].is_constant(); });
}

ValueId add_constant(Graph& graph, const Node& node, const char* what,
                     std::vector<std::int64_t> shape, std::vector<float> elements) {
    Value value{node.name + ":" + what + std::to_string(graph.values.size()), std::move(shape)};
    value.constant = std::move(elements);
    graph.values.push_back(std::move(value));
    return graph.values.size() - 1;
}

// Others may read the constants that the node has had.
void apply(Graph& graph, Node& convolution, const ChannelFunction& function) {
    const std::size_t channels = function.constant.size();
    std::vector<float> weights = graph.values[convolution.inputs[1]].constant;
    std::vector<float> bias(channels, 0.0f);
    if (convolution.inputs.size() == 3)
        bias = graph.values[convolution.inputs[2]].constant;
    const std::size_t each = weights.size() / channels;
    for (std::size_t channel = 0; channel < channels; ++channel) {
        const float constant = function.constant[channel];
        if (!function.multiplies) {
            bias[channel] += constant;
            continue;
        }
        bias[channel] *= constant;
        for (std::size_t i = channel * each; i < (channel + 1) * each; ++i)
            weights[i] *= constant;
    }
    if (function.multiplies) {
        std::vector<std::int64_t> shape = graph.values[convolution.inputs[1]].shape;
        convolution.inputs[1] =
            add_constant(graph, convolution, "weights", std::move(shape), std::move(weights));
    }
    const ValueId added = add_constant(graph, convolution, "bias",
                                       {static_cast<std::int64_t>(channels)}, std::move(bias));
    convolution.inputs.resize(2);
    convolution.inputs.push_back(added);
}

} // namespace

void fold_on_cpu(Graph& graph) {
    const std::vector<std::size_t> uses = count_uses(graph);
    std::vector<std::optional<std::size_t>> producer(graph.values.size()); // among those kept
    std::vector<Node> kept;
    for (Node& node : graph.nodes) {
        const auto function = channel_function(graph, node);
        const auto before =
            function && uses[function->input] == 1 ? producer[function->input] : std::nullopt;
        if (before && takes_functions(graph, kept[*before])) {
            apply(graph, kept[*before], *function);
            kept[*before].output = node.output;
            producer[node.output] = before;
            continue;
        }
        producer[node.output] = kept.size();
        kept.push_back(std::move(node));
    }
    graph.nodes = std::move(kept);
}

} // namespace overtake::compiler
