// SPDX-License-Identifier: MIT
#include "network.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace overtake::host_profile {
namespace {

using namespace compiler;

class Builder {
public:
    explicit Builder(std::string name) { graph_.name = std::move(name); }

    ValueId input(std::uint32_t channels, std::uint32_t size) {
        const ValueId id = value(channels, size);
        graph_.inputs = {id};
        return id;
    }

    ValueId convolution(ValueId in, std::uint32_t channels, std::uint32_t kernel,
                        std::uint32_t stride = 1) {
        Node node = windowed(Operator::convolution, "Conv", in, kernel, stride);
        fill_weights(node, channels, std::size_t{kernel} * kernel * graph_.values[in].channels);
        return append(node, channels, (graph_.values[in].height + stride - 1) / stride);
    }

    ValueId depthwise(ValueId in, std::uint32_t kernel, std::uint32_t stride) {
        Node node = windowed(Operator::depthwise, "Conv", in, kernel, stride);
        fill_weights(node, graph_.values[in].channels, std::size_t{kernel} * kernel);
        return append(node, graph_.values[in].channels,
                      (graph_.values[in].height + stride - 1) / stride);
    }

    ValueId transposed(ValueId in, std::uint32_t channels) {
        Node node = windowed(Operator::transposed_convolution, "ConvTranspose", in, 2, 2);
        node.window.pad_top = node.window.pad_left = 0;
        fill_weights(node, channels, std::size_t{4} * graph_.values[in].channels);
        return append(node, channels, graph_.values[in].height * 2);
    }

    ValueId pool(Operator op, ValueId in, std::uint32_t kernel, std::uint32_t stride) {
        Node node = windowed(op, "Pool", in, kernel, stride);
        if (kernel == graph_.values[in].height)
            node.window.pad_top = node.window.pad_left = 0;
        const std::uint32_t size = kernel == graph_.values[in].height
                                       ? 1
                                       : (graph_.values[in].height + stride - 1) / stride;
        return append(node, graph_.values[in].channels, size);
    }

    ValueId pair(Operator op, ValueId left, ValueId right) {
        Node node = plain(op, "Pair", left);
        node.inputs.push_back(right);
        return append(node, graph_.values[left].channels, graph_.values[left].height);
    }

    ValueId activation(ValueId in) {
        Node node = plain(Operator::activation, "Sigmoid", in);
        node.function = [](float x) { return 1 / (1 + std::exp(-x)); };
        return append(node, graph_.values[in].channels, graph_.values[in].height);
    }

    ValueId copy(ValueId in) {
        return append(plain(Operator::copy, "Copy", in), graph_.values[in].channels,
                      graph_.values[in].height);
    }

    ValueId resize(Operator op, ValueId in) {
        Node node = plain(op, "Resize", in);
        const double start = op == Operator::resize_bilinear ? -0.25 : 0.25;
        node.rows = node.columns = {start, 0.5};
        return append(node, graph_.values[in].channels, graph_.values[in].height * 2);
    }

    Graph take(ValueId output) {
        graph_.outputs = {output};
        return std::move(graph_);
    }

private:
    ValueId value(std::uint32_t channels, std::uint32_t size) {
        Value value;
        value.name = std::to_string(graph_.values.size());
        value.shape = {1, channels, size, size};
        value.channels = channels;
        value.height = value.width = size;
        graph_.values.push_back(value);
        return graph_.values.size() - 1;
    }

    Node plain(Operator op, const char* type, ValueId in) {
        Node node;
        node.name = std::to_string(graph_.nodes.size());
        node.onnx_type = type;
        node.op = op;
        node.inputs = {in};
        return node;
    }

    Node windowed(Operator op, const char* type, ValueId in, std::uint32_t kernel,
                  std::uint32_t stride) {
        Node node = plain(op, type, in);
        const std::uint32_t pad = (kernel - 1) / 2;
        node.window = {kernel, kernel, stride, stride, pad, pad};
        return node;
    }

    void fill_weights(Node& node, std::uint32_t channels, std::size_t each) {
        std::normal_distribution<float> bell(0.0f, 1.0f / std::sqrt(static_cast<float>(each)));
        node.weights.resize(channels * each);
        std::ranges::generate(node.weights, [&] { return bell(generator_); });
        node.bias.assign(channels, 0.1f);
    }

    ValueId append(Node node, std::uint32_t channels, std::uint32_t size) {
        node.output = value(channels, size);
        graph_.nodes.push_back(std::move(node));
        return graph_.nodes.back().output;
    }

    Graph graph_;
    std::mt19937 generator_{1};
};

// What networks do to a tensor of one size; nobody reads the results.
void add_branches(Builder& builder, ValueId trunk, std::uint32_t channels, std::uint32_t size) {
    const ValueId same = builder.convolution(trunk, channels, 3);
    builder.convolution(trunk, channels, 1);
    builder.convolution(trunk, channels * 2, 1);
    builder.convolution(trunk, channels / 2, 1);
    builder.convolution(trunk, channels * 2, 3, 2);
    builder.convolution(trunk, 24, 1);
    if (size <= 112 && channels <= 256) {
        const ValueId wide = builder.convolution(trunk, channels * 3, 1);
        builder.depthwise(wide, 3, 1);
        builder.convolution(builder.depthwise(wide, 3, 2), channels, 1);
        builder.convolution(wide, channels, 1);
        builder.activation(wide);
    }
    builder.depthwise(trunk, 3, 1);
    builder.depthwise(trunk, 5, 1);
    builder.pool(Operator::max_pool, trunk, 3, 2);
    builder.pool(Operator::max_pool, trunk, 2, 2);
    builder.pool(Operator::average_pool, trunk, 3, 1);
    builder.activation(trunk);
    builder.copy(trunk);
    for (const Operator op : {Operator::add, Operator::subtract, Operator::multiply,
                              Operator::maximum, Operator::minimum})
        builder.pair(op, trunk, same);
    if (size <= 64) {
        builder.pool(Operator::max_pool, trunk, 5, 1);
        builder.resize(Operator::resize_nearest, trunk);
        builder.resize(Operator::resize_bilinear, trunk);
        builder.transposed(trunk, channels / 2);
    }
}

} // namespace

Graph layers_of_every_kind() {
    Builder builder("layers of every kind");
    const ValueId image = builder.input(3, 224);
    builder.convolution(image, 64, 7, 2);
    builder.convolution(image, 32, 3, 1);
    builder.convolution(image, 16, 3, 2);
    ValueId trunk = builder.convolution(image, 32, 3, 2);
    std::uint32_t channels = 32, size = 112;
    for (;; channels *= 2, size /= 2) {
        add_branches(builder, trunk, channels, size);
        if (size == 7)
            break;
        // A second width of the same size: networks differ in it.
        const ValueId narrow = builder.convolution(trunk, channels / 2, 1);
        builder.convolution(narrow, channels / 2, 3);
        builder.convolution(narrow, channels * 3, 1);
        trunk = builder.convolution(trunk, channels * 2, 3, 2);
    }
    const ValueId features = builder.pool(Operator::average_pool, trunk, size, 1);
    builder.activation(features);
    builder.convolution(features, 256, 1);
    return builder.take(builder.convolution(features, 1000, 1));
}

Graph tiny_instructions(std::size_t length) {
    Builder builder("tiny instructions");
    ValueId last = builder.input(8, 8);
    while (length-- > 0)
        last = builder.activation(last);
    return builder.take(last);
}

} // namespace overtake::host_profile
