// SPDX-License-Identifier: MIT
#include "compiler/passes/fold.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "compiler/ir/limits.hpp"
#include "compiler/passes/fold_on_cpu.hpp"
#include "compiler/passes/fuse_elementwise.hpp"

namespace overtake::compiler {
namespace {

// The nodes of a graph while some of them disappear, with producers and uses by value.
class Folder {
public:
    explicit Folder(Graph& graph) : graph_(graph) {}

    void run() {
        remove_unused();
        fold_on_cpu(graph_);
        merge(); // first, so that no function takes what a convolution can take
        fuse_elementwise(graph_);
        remove_unused();
        merge();
        for (Node& node : graph_.nodes)
            if (const auto* permute = node.as<op::Permute>();
                permute && permute->axes == op::Permute{}.axes)
                rename(node, permute->batches);
    }

private:
    // Makes the node one that moves nothing: a view of the same bytes.
    void rename(Node& node, std::uint32_t batches) const {
        const bool is_same_batch =
            graph_.values[node.inputs[0]].batch == graph_.values[node.output].batch;
        node.operation = is_same_batch ? Operation(op::Slice{}) : Operation(op::Reshape{batches});
    }

    void merge() {
        uses_ = count_uses(graph_);
        producer_.assign(graph_.values.size(), std::nullopt);
        std::vector<Node> nodes = std::move(graph_.nodes);
        graph_.nodes.clear();
        for (Node& node : nodes) {
            if (merge_scaling(node) || merge_factor(node) || merge_clamp(node))
                continue;
            merge_padding(node);
            producer_[node.output] = graph_.nodes.size();
            graph_.nodes.push_back(std::move(node));
        }
        remove_unused(); // the nodes that padded
    }

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

    // Returns the node that writes the value, if the value has only one reader.
    Node* sole_producer(ValueId value) {
        if (uses_[value] != 1 || !producer_[value])
            return nullptr;
        return &graph_.nodes[*producer_[value]];
    }

    void take_output(Node& producer, const Node& node) {
        producer_[node.output] = producer_[producer.output];
        producer.output = node.output;
    }

    // Whether the model rounds the value to a quantisation that it gives: then the value has to
    // stay.
    bool is_rounded(const Node& producer) const {
        return graph_.values[producer.output].given.has_value();
    }

    bool merge_scaling(const Node& node) {
        if (!is_scaling(graph_, node))
            return false;
        Node* producer = sole_producer(node.inputs[0]);
        auto* before = producer ? producer->as<op::Convolution>() : nullptr;
        if (!before || producer->is_clamped() || is_rounded(*producer))
            return false;
        const auto& scaling = *node.as<op::Convolution>();
        const std::size_t channels = scaling.bias.size();
        const std::size_t weights_each = before->weights.size() / channels;
        for (std::size_t channel = 0; channel < channels; ++channel) {
            const float factor = scaling.weights[channel];
            for (std::size_t index = 0; index < weights_each; ++index)
                before->weights[channel * weights_each + index] *= factor;
            if (!before->weight_scales.empty())
                before->weight_scales[channel] *= std::abs(factor);
            before->bias[channel] = before->bias[channel] * factor + scaling.bias[channel];
        }
        take_output(*producer, node);
        return true;
    }

    // A matrix product is requantised with one number, which can include another factor.
    bool merge_factor(const Node& node) {
        const auto scaling = uniform_scaling(graph_, node);
        if (!scaling || scaling->offset != 0 || !(scaling->factor > 0))
            return false;
        Node* producer = sole_producer(node.inputs[0]);
        auto* product = producer ? producer->as<op::MatrixProduct>() : nullptr;
        if (!product || producer->is_clamped() || is_rounded(*producer))
            return false;
        product->factor *= scaling->factor;
        take_output(*producer, node);
        return true;
    }

    // Removes a node that pads with zeros: windows read zeros around their input without it.
    void merge_padding(Node& node) {
        auto* convolution = node.as<op::Convolution>();
        const bool has_window =
            convolution && convolution->kind != op::Convolution::Kind::transposed;
        const Node* producer = has_window ? sole_producer(node.inputs[0]) : nullptr;
        const auto* pad = producer ? producer->as<op::Pad>() : nullptr;
        if (!pad || is_rounded(*producer) || pad->mode != op::Pad::Mode::constant ||
            pad->fill != 0 || pad->front[axis_channels] != 0)
            return;
        const Value &in = graph_.values[producer->inputs[0]], &out = graph_.values[node.output];
        if (in.channels != graph_.values[producer->output].channels)
            return;
        Window window = convolution->window;
        window.pad_top += pad->front[axis_height];
        window.pad_left += pad->front[axis_width];
        const auto begins_inside = [](std::uint32_t outputs, std::uint32_t stride,
                                      std::uint32_t pad, std::uint32_t inputs) {
            return std::uint64_t{outputs - 1} * stride < std::uint64_t{inputs} + pad;
        };
        if (std::max(window.pad_top, window.pad_left) > max_window ||
            window.pad_top >= window.extent_height() || window.pad_left >= window.extent_width() ||
            !begins_inside(out.height, window.stride_height, window.pad_top, in.height) ||
            !begins_inside(out.width, window.stride_width, window.pad_left, in.width))
            return;
        convolution->window = window;
        node.inputs[0] = producer->inputs[0];
    }

    bool merge_clamp(const Node& node) {
        const auto* activation = node.as<op::Activation>();
        if (!activation || activation->function)
            return false;
        Node* producer = sole_producer(node.inputs[0]);
        if (!producer || !producer->on_bpu() || is_rounded(*producer) ||
            (keeps_quantisation(*producer) && !producer->is<op::Pool>()))
            return false;
        if (keeps_quantisation(*producer) && graph_.values[node.output].given)
            return false;
        // The result is not the intersection: clamping 5..6 to 0..1 gives 1.
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
