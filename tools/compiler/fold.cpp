// SPDX-License-Identifier: MIT
#include "fold.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace overtake::compiler {
namespace {

// Nodes of a graph while some of them disappear: producers by value, uses by value.
class Folder {
public:
    explicit Folder(Graph& graph) : graph_(graph) {}

    void run() {
        remove_unused();
        fuse_gates();
        remove_unused();
        uses_ = count_uses(graph_);
        producer_.assign(graph_.values.size(), std::nullopt);
        std::vector<Node> nodes = std::move(graph_.nodes);
        graph_.nodes.clear();
        for (Node& node : nodes) {
            if (merge_scaling(node) || merge_clamp(node))
                continue;
            producer_[node.output] = graph_.nodes.size();
            graph_.nodes.push_back(std::move(node));
        }
    }

private:
    void remove_unused() {
        std::vector<std::size_t> uses = count_uses(graph_);
        std::vector<Node> kept;
        for (auto node = graph_.nodes.rbegin(); node != graph_.nodes.rend(); ++node) {
            if (uses[node->output] > 0)
                kept.push_back(std::move(*node));
            else
                for (ValueId input : node->inputs)
                    --uses[input];
        }
        std::ranges::reverse(kept);
        graph_.nodes = std::move(kept);
    }

    // x combined with a function of x is a function of x: SiLU is x * sigmoid(x).
    void fuse_gates() {
        std::vector<const Node*> writers(graph_.values.size());
        for (Node& node : graph_.nodes) {
            for (std::size_t gate = 0; gate < node.inputs.size() && is_binary(node); ++gate) {
                const Node* writer = writers[node.inputs[gate]];
                if (writer && writer->op == Operator::activation &&
                    writer->inputs[0] == node.inputs[1 - gate])
                    fuse_gate(node, *writer, gate);
            }
            writers[node.output] = &node;
        }
    }

    static bool is_binary(const Node& node) { return binary_function(node.op) != nullptr; }

    static float (*binary_function(Operator op))(float, float) {
        switch (op) {
        case Operator::add:
            return [](float a, float b) { return a + b; };
        case Operator::subtract:
            return [](float a, float b) { return a - b; };
        case Operator::multiply:
            return [](float a, float b) { return a * b; };
        case Operator::maximum:
            return [](float a, float b) { return std::max(a, b); };
        case Operator::minimum:
            return [](float a, float b) { return std::min(a, b); };
        default:
            return nullptr;
        }
    }

    static void fuse_gate(Node& node, const Node& writer, std::size_t gate) {
        const auto combine = binary_function(node.op);
        node.function = [combine, gate, function = writer.function, low = writer.clamp_low,
                         high = writer.clamp_high](float x) {
            const float y = std::clamp(function ? function(x) : x, low, high);
            return gate == 0 ? combine(y, x) : combine(x, y);
        };
        node.op = Operator::activation;
        node.inputs = {writer.inputs[0]};
    }

    // The node that writes the value, if the value has one reader only.
    Node* sole_producer(ValueId value) {
        if (uses_[value] != 1 || !producer_[value])
            return nullptr;
        return &graph_.nodes[*producer_[value]];
    }

    void take_output(Node& producer, const Node& node) {
        producer_[node.output] = producer_[producer.output];
        producer.output = node.output;
    }

    // What the model rounds to a quantisation that it gives has to stay.
    bool is_rounded(const Node& producer) const {
        return graph_.values[producer.output].given.has_value();
    }

    bool same_size(const Node& node) const {
        const Value &in = graph_.values[node.inputs[0]], &out = graph_.values[node.output];
        return in.height == out.height && in.width == out.width;
    }

    bool merge_scaling(const Node& node) {
        const Window& window = node.window;
        const bool scales = node.op == Operator::depthwise &&
                            node.weights.size() == node.bias.size() && window.stride_height == 1 &&
                            window.stride_width == 1 && window.pad_top == 0 &&
                            window.pad_left == 0 && same_size(node);
        if (!scales)
            return false;
        Node* producer = sole_producer(node.inputs[0]);
        if (!producer || producer->is_clamped() || is_rounded(*producer) ||
            (producer->op != Operator::convolution && producer->op != Operator::depthwise &&
             producer->op != Operator::transposed_convolution))
            return false;
        const std::size_t channels = node.bias.size();
        const std::size_t weights_each = producer->weights.size() / channels;
        for (std::size_t channel = 0; channel < channels; ++channel) {
            for (std::size_t index = 0; index < weights_each; ++index)
                producer->weights[channel * weights_each + index] *= node.weights[channel];
            if (!producer->weight_scales.empty())
                producer->weight_scales[channel] *= std::abs(node.weights[channel]);
            producer->bias[channel] =
                producer->bias[channel] * node.weights[channel] + node.bias[channel];
        }
        take_output(*producer, node);
        return true;
    }

    bool merge_clamp(const Node& node) {
        if (node.op != Operator::activation || node.function)
            return false;
        Node* producer = sole_producer(node.inputs[0]);
        if (!producer || !producer->on_bpu() || is_rounded(*producer) ||
            (keeps_quantisation(*producer) && producer->op != Operator::max_pool))
            return false;
        if (keeps_quantisation(*producer) && graph_.values[node.output].given)
            return false;
        // Not the intersection: clamping 5..6 to 0..1 gives 1.
        const float low = producer->clamp_low, high = producer->clamp_high;
        producer->clamp_low = std::clamp(low, node.clamp_low, node.clamp_high);
        producer->clamp_high = std::clamp(high, node.clamp_low, node.clamp_high);
        take_output(*producer, node);
        return true;
    }

    Graph& graph_;
    std::vector<std::size_t> uses_;
    std::vector<std::optional<std::size_t>> producer_; // index into graph_.nodes
};

} // namespace

void fold(Graph& graph) {
    Folder(graph).run();
}

} // namespace overtake::compiler
