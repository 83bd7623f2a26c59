// SPDX-License-Identifier: MIT
#include "compiler/passes/fold_on_cpu.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cpu/operation.hpp"

namespace overtake::compiler {
namespace {

// A product or sum with a constant for each channel of the input.
struct ChannelFunction {
    ValueId input;
    std::vector<float> constant;
    bool multiplies;
};

// Returns one number for each channel, however the constant is broadcast; empty if it has no such
// numbers.
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

// Changes constants of nodes; a constant that other nodes read is copied once.
class FoldedConstants {
public:
    explicit FoldedConstants(Graph& graph) : graph_(graph), uses_(count_uses(graph)) {}

    // Returns the original uses, by value; copies have none here.
    const std::vector<std::size_t>& uses() const { return uses_; }

    std::vector<float>& of(ValueId& value) {
        const bool is_own = value >= uses_.size() || uses_[value] == 1;
        if (!is_own) {
            Value copy = graph_.values[value];
            value = add(std::move(copy));
        }
        return graph_.values[value].constant;
    }

    ValueId add(Value value) {
        value.name += ":folded" + std::to_string(graph_.values.size());
        graph_.values.push_back(std::move(value));
        return graph_.values.size() - 1;
    }

private:
    Graph& graph_;
    const std::vector<std::size_t> uses_;
};

void apply(FoldedConstants& constants, Node& convolution, const ChannelFunction& function) {
    const std::size_t channels = function.constant.size();
    if (convolution.inputs.size() == 2) {
        Value bias{convolution.name + ":bias", {static_cast<std::int64_t>(channels)}};
        bias.constant.assign(channels, 0.0f);
        convolution.inputs.push_back(constants.add(std::move(bias)));
    }
    std::vector<float>& bias = constants.of(convolution.inputs[2]);
    for (std::size_t channel = 0; channel < channels; ++channel)
        bias[channel] = function.multiplies ? bias[channel] * function.constant[channel]
                                            : bias[channel] + function.constant[channel];
    if (!function.multiplies)
        return;
    std::vector<float>& weights = constants.of(convolution.inputs[1]);
    const std::size_t each = weights.size() / channels;
    for (std::size_t i = 0; i < weights.size(); ++i)
        weights[i] *= function.constant[i / each];
}

// Whether the node computes the same in each run, and its result takes no more memory than it
// reads: a transposed matrix of weights, or a constant multiplied by another.
bool makes_a_constant(const Graph& graph, const Node& node) {
    const auto* form = node.as<op::Cpu>();
    if (!form || node.is_clamped() || graph.values[node.output].given ||
        (form->type != CpuOpType::view && form->type != CpuOpType::unary &&
         form->type != CpuOpType::binary))
        return false;
    std::size_t read = 0;
    for (const ValueId input : node.inputs) {
        if (!graph.values[input].is_constant())
            return false;
        read += graph.values[input].constant.size();
    }
    return graph.values[node.output].elements() <= read;
}

void make_constants(Graph& graph) {
    const std::vector<bool> is_the_devices = device_values(graph);
    std::vector<Node> kept;
    for (Node& node : graph.nodes) {
        if (is_the_devices[node.output] || std::ranges::count(graph.outputs, node.output) > 0 ||
            !makes_a_constant(graph, node)) {
            kept.push_back(std::move(node));
            continue;
        }
        cpu::Inputs inputs;
        for (const ValueId input : node.inputs)
            inputs.emplace_back(graph.values[input].constant);
        std::vector<float> made(graph.values[node.output].elements());
        cpu_kernel(graph, node)(inputs, made);
        graph.values[node.output].constant = std::move(made);
    }
    graph.nodes = std::move(kept);
}

} // namespace

void fold_on_cpu(Graph& graph) {
    make_constants(graph);
    FoldedConstants constants(graph);
    std::vector<std::optional<std::size_t>> producer(graph.values.size()); // index into `kept`
    std::vector<Node> kept;
    for (Node& node : graph.nodes) {
        const auto function = channel_function(graph, node);
        // An output of the graph counts as a use.
        const bool is_alone = function && constants.uses()[function->input] == 1;
        const auto before = is_alone ? producer[function->input] : std::nullopt;
        if (before && takes_functions(graph, kept[*before])) {
            apply(constants, kept[*before], *function);
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
