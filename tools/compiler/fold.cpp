// SPDX-License-Identifier: MIT
#include "fold.hpp"

#include <algorithm>
#include <optional>

namespace overtake::compiler {
namespace {

// Nodes of a graph while some of them disappear: producers by value, uses by value.
class Folder {
public:
    explicit Folder(Graph& graph) : graph_(graph) {}

    void run() {
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

    bool merge_scaling(const Node& node) {
        const bool scales =
            node.op == Operator::depthwise && node.weights.size() == node.bias.size();
        if (!scales)
            return false;
        Node* producer = sole_producer(node.inputs[0]);
        if (!producer || producer->is_clamped() ||
            (producer->op != Operator::convolution && producer->op != Operator::depthwise))
            return false;
        const std::size_t channels = node.bias.size();
        const std::size_t weights_each = producer->weights.size() / channels;
        for (std::size_t channel = 0; channel < channels; ++channel) {
            for (std::size_t index = 0; index < weights_each; ++index)
                producer->weights[channel * weights_each + index] *= node.weights[channel];
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
        if (!producer || producer->op == Operator::copy || producer->op == Operator::softmax)
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
