// SPDX-License-Identifier: MIT
#include "network.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

namespace overtake::host_profile {
namespace {

using namespace compiler;

class Builder {
public:
    explicit Builder(std::string name) { graph_.name = std::move(name); }

    ValueId input(std::uint32_t channels, std::uint32_t height, std::uint32_t width) {
        const ValueId id = value(channels, height, width);
        graph_.inputs.push_back(id);
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

    ValueId transposed(ValueId in, std::uint32_t channels, std::uint32_t kernel) {
        Node node = windowed(Operator::transposed_convolution, "ConvTranspose", in, kernel, 2);
        node.window.pad_top = node.window.pad_left = (kernel - 2) / 2;
        fill_weights(node, channels, std::size_t{kernel} * kernel * graph_.values[in].channels);
        return append(node, channels, graph_.values[in].height * 2);
    }

    // A matrix product for each row: pixels of the first times pixels of the second.
    ValueId matrix_product(ValueId left, ValueId right) {
        Node node = plain(Operator::matrix_product, "MatMul", left);
        node.inputs.push_back(right);
        return append(node, graph_.values[right].width, graph_.values[left].height,
                      graph_.values[left].width);
    }

    // The output's height, width and channels are these axes of the input.
    ValueId permute(ValueId in, std::array<std::size_t, 3> axes) {
        Node node = plain(Operator::permute, "Transpose", in);
        node.axes = axes;
        const Value& value = graph_.values[in];
        const std::uint32_t sizes[] = {value.height, value.width, value.channels};
        return append(node, sizes[axes[2]], sizes[axes[0]], sizes[axes[1]]);
    }

    ValueId pad(ValueId in) {
        Node node = plain(Operator::pad, "Pad", in);
        node.padding.front = {0, 1, 1};
        return append(node, graph_.values[in].channels, graph_.values[in].height + 2);
    }

    ValueId blocks(Operator op, ValueId in) {
        Node node = plain(op, "Blocks", in);
        node.window.kernel_height = node.window.kernel_width = 2;
        const Value& value = graph_.values[in];
        return op == Operator::depth_to_space ? append(node, value.channels / 4, value.height * 2)
                                              : append(node, value.channels * 4, value.height / 2);
    }

    ValueId pool(Operator op, ValueId in, std::uint32_t kernel, std::uint32_t stride) {
        Node node = windowed(op, "Pool", in, kernel, stride);
        if (kernel == graph_.values[in].height) {
            node.window.pad_top = node.window.pad_left = 0;
            node.clamp_low = 0; // what is pooled in whole comes from a ReLU, in most networks
        }
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
    ValueId value(std::uint32_t channels, std::uint32_t height, std::uint32_t width) {
        Value value;
        value.name = std::to_string(graph_.values.size());
        value.shape = {1, channels, height, width};
        value.channels = channels;
        value.height = height;
        value.width = width;
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

    // Trained weights have more small ones, and a few larger ones, than a normal distribution; how
    // fast a convolution is depends on that (docs/operators.md).  Hence a Laplace distribution: an
    // exponential one of either sign.
    void fill_weights(Node& node, std::uint32_t channels, std::size_t each) {
        std::exponential_distribution<float> magnitude(std::sqrt(static_cast<float>(each)));
        std::bernoulli_distribution is_negative;
        node.weights.resize(channels * each);
        std::ranges::generate(node.weights, [&] {
            const float weight = magnitude(generator_);
            return is_negative(generator_) ? -weight : weight;
        });
        node.bias.assign(channels, 0.1f);
    }

    ValueId append(Node node, std::uint32_t channels, std::uint32_t size) {
        return append(std::move(node), channels, size, size);
    }

    ValueId append(Node node, std::uint32_t channels, std::uint32_t height, std::uint32_t width) {
        node.output = value(channels, height, width);
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
    }
    // Products as different as shapes allow: a cost per product is to be told from a fixed one.
    if (size <= 28) {
        builder.transposed(trunk, channels / 2, 2);
        builder.transposed(trunk, 16, 2);
        builder.transposed(trunk, 8, 4);
    }
    if (size <= 56) {
        builder.pad(trunk);
        builder.blocks(Operator::depth_to_space, trunk);
        if (size % 2 == 0)
            builder.blocks(Operator::space_to_depth, trunk);
    }
}

// Attention over `tokens` tokens: heads in front of tokens, products, and tokens in front again.
void add_attention(Builder& builder, std::uint32_t tokens, std::uint32_t depth) {
    constexpr std::uint32_t head_count = 3;
    constexpr std::array<std::size_t, 3> to_heads = {1, 0, 2}, to_columns = {1, 2, 0};
    const ValueId together = builder.input(depth, tokens, head_count);
    const ValueId heads = builder.permute(together, to_heads);
    const ValueId columns = builder.permute(together, to_columns);
    const ValueId weights = builder.matrix_product(heads, heads);
    builder.permute(builder.matrix_product(weights, columns), to_heads);
}

} // namespace

Graph layers_of_every_kind() {
    Builder builder("layers of every kind");
    const ValueId image = builder.input(3, 224, 224);
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
    for (const std::uint32_t tokens : {16, 49, 196})
        for (const std::uint32_t depth : {32, 64})
            add_attention(builder, tokens, depth);
    const ValueId features = builder.pool(Operator::average_pool, trunk, size, 1);
    builder.activation(features);
    builder.convolution(features, 256, 1);
    return builder.take(builder.convolution(features, 1000, 1));
}

Graph tiny_instructions(std::size_t length) {
    Builder builder("tiny instructions");
    ValueId last = builder.input(8, 8, 8);
    while (length-- > 0)
        last = builder.activation(last);
    return builder.take(last);
}

} // namespace overtake::host_profile
