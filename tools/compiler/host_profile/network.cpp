// SPDX-License-Identifier: MIT
#include "compiler/host_profile/network.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <utility>

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
        op::Convolution operation{op::Convolution::Kind::forward, window(kernel, stride)};
        fill_weights(operation, channels,
                     std::size_t{kernel} * kernel * graph_.values[in].channels);
        return append(plain(std::move(operation), "Conv", in), channels,
                      (graph_.values[in].height + stride - 1) / stride);
    }

    ValueId depthwise(ValueId in, std::uint32_t kernel, std::uint32_t stride) {
        op::Convolution operation{op::Convolution::Kind::depthwise, window(kernel, stride)};
        fill_weights(operation, graph_.values[in].channels, std::size_t{kernel} * kernel);
        return append(plain(std::move(operation), "Conv", in), graph_.values[in].channels,
                      (graph_.values[in].height + stride - 1) / stride);
    }

    ValueId transposed(ValueId in, std::uint32_t channels, std::uint32_t kernel) {
        op::Convolution operation{op::Convolution::Kind::transposed, window(kernel, 2)};
        operation.window.pad_top = operation.window.pad_left = (kernel - 2) / 2;
        fill_weights(operation, channels,
                     std::size_t{kernel} * kernel * graph_.values[in].channels);
        return append(plain(std::move(operation), "ConvTranspose", in), channels,
                      graph_.values[in].height * 2);
    }

    // Adds a matrix product for each row: pixels of the first times pixels of the second.
    ValueId matrix_product(ValueId left, ValueId right) {
        Node node = plain(op::MatrixProduct{}, "MatMul", left);
        node.inputs.push_back(right);
        return append(node, graph_.values[right].width, graph_.values[left].height,
                      graph_.values[left].width);
    }

    // Adds a transposition: the output's height, width and channels are these axes of the input.
    ValueId permute(ValueId in, std::array<std::size_t, 3> axes) {
        Node node = plain(op::Permute{axes}, "Transpose", in);
        const Value& value = graph_.values[in];
        const std::uint32_t sizes[] = {value.height, value.width, value.channels};
        return append(node, sizes[axes[2]], sizes[axes[0]], sizes[axes[1]]);
    }

    ValueId pad(ValueId in) {
        op::Pad operation;
        operation.front = {0, 1, 1};
        return append(plain(operation, "Pad", in), graph_.values[in].channels,
                      graph_.values[in].height + 2);
    }

    ValueId depth_to_space(ValueId in) {
        const Value value = graph_.values[in];
        return append(plain(op::DepthToSpace{2}, "Blocks", in), value.channels / 4,
                      value.height * 2);
    }

    ValueId space_to_depth(ValueId in) {
        const Value value = graph_.values[in];
        return append(plain(op::SpaceToDepth{2}, "Blocks", in), value.channels * 4,
                      value.height / 2);
    }

    ValueId pool(op::Pool::Kind kind, ValueId in, std::uint32_t kernel, std::uint32_t stride) {
        Node node = plain(op::Pool{kind, window(kernel, stride)}, "Pool", in);
        if (kernel == graph_.values[in].height) {
            Window& whole = node.as<op::Pool>()->window;
            whole.pad_top = whole.pad_left = 0;
            node.clamp_low = 0; // what is pooled in whole comes from a ReLU, in most networks
        }
        const std::uint32_t size = kernel == graph_.values[in].height
                                       ? 1
                                       : (graph_.values[in].height + stride - 1) / stride;
        return append(node, graph_.values[in].channels, size);
    }

    ValueId pair(op::Pair::Kind kind, ValueId left, ValueId right) {
        Node node = plain(op::Pair{kind}, "Pair", left);
        node.inputs.push_back(right);
        return append(node, graph_.values[left].channels, graph_.values[left].height);
    }

    ValueId activation(ValueId in) {
        const op::Activation sigmoid{[](float x) { return 1 / (1 + std::exp(-x)); }};
        return append(plain(sigmoid, "Sigmoid", in), graph_.values[in].channels,
                      graph_.values[in].height);
    }

    ValueId copy(ValueId in) {
        return append(plain(op::Copy{}, "Copy", in), graph_.values[in].channels,
                      graph_.values[in].height);
    }

    ValueId resize(op::Resize::Kind kind, ValueId in) {
        const double start = kind == op::Resize::Kind::bilinear ? -0.25 : 0.25;
        const op::Resize operation{kind, {start, 0.5}, {start, 0.5}};
        return append(plain(operation, "Resize", in), graph_.values[in].channels,
                      graph_.values[in].height * 2);
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

    Node plain(Operation operation, const char* type, ValueId in) {
        Node node;
        node.name = std::to_string(graph_.nodes.size());
        node.onnx_type = type;
        node.operation = std::move(operation);
        node.inputs = {in};
        return node;
    }

    static Window window(std::uint32_t kernel, std::uint32_t stride) {
        const std::uint32_t pad = (kernel - 1) / 2;
        return {kernel, kernel, stride, stride, pad, pad};
    }

    // Trained weights have more small ones, and a few larger ones, than a normal distribution; how
    // fast a convolution is depends on that (docs/reference/operators.md).  Hence a Laplace
    // distribution: an exponential one of either sign.
    void fill_weights(op::Convolution& convolution, std::uint32_t channels, std::size_t each) {
        std::exponential_distribution<float> magnitude(std::sqrt(static_cast<float>(each)));
        std::bernoulli_distribution is_negative;
        convolution.weights.resize(channels * each);
        std::ranges::generate(convolution.weights, [&] {
            const float weight = magnitude(generator_);
            return is_negative(generator_) ? -weight : weight;
        });
        convolution.bias.assign(channels, 0.1f);
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

// Adds operators that networks apply to a tensor of one size; no node reads the results.
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
    builder.pool(op::Pool::Kind::maximum, trunk, 3, 2);
    builder.pool(op::Pool::Kind::maximum, trunk, 2, 2);
    builder.pool(op::Pool::Kind::average, trunk, 3, 1);
    builder.activation(trunk);
    builder.copy(trunk);
    using Pair = op::Pair::Kind;
    for (const Pair kind :
         {Pair::add, Pair::subtract, Pair::multiply, Pair::maximum, Pair::minimum})
        builder.pair(kind, trunk, same);
    if (size <= 64) {
        builder.pool(op::Pool::Kind::maximum, trunk, 5, 1);
        builder.resize(op::Resize::Kind::nearest, trunk);
        builder.resize(op::Resize::Kind::bilinear, trunk);
    }
    builder.transposed(trunk, channels / 2, 2);
    // Products as different as shapes allow: a cost per product has to differ from a fixed one.
    if (size <= 28) {
        builder.transposed(trunk, 16, 2);
        builder.transposed(trunk, 8, 4);
    }
    if (size <= 56) {
        builder.pad(trunk);
        builder.depth_to_space(trunk);
        if (size % 2 == 0)
            builder.space_to_depth(trunk);
    }
}

// Adds attention over `tokens` tokens: heads in front of tokens, products, and tokens in front
// again.
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
    builder.convolution(image, 192, 16, 16);
    builder.convolution(image, 16, 3, 2);
    // Tensors that the nearest caches do not hold.
    const ValueId large = builder.convolution(image, 32, 3, 1);
    builder.convolution(large, 32, 3);
    builder.convolution(large, 8, 1);
    builder.activation(large);
    builder.copy(large);
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
    const ValueId features = builder.pool(op::Pool::Kind::average, trunk, size, 1);
    builder.activation(features);
    builder.convolution(features, 256, 1);
    return builder.take(builder.convolution(features, 1000, 1));
}

Graph pools_of_all_of_a_tensor() {
    Builder builder("pools of all of a tensor");
    ValueId last = 0;
    for (const std::uint32_t size : {4, 7, 10, 14})
        for (const std::uint32_t channels : {64, 320, 1280}) {
            const ValueId in = builder.input(channels, size, size);
            builder.pool(op::Pool::Kind::average, in, 3, 1);
            builder.pool(op::Pool::Kind::average, in, 3, 2);
            last = builder.pool(op::Pool::Kind::average, in, size, 1);
        }
    return builder.take(last);
}

Graph tiny_instructions(std::size_t length) {
    Builder builder("tiny instructions");
    ValueId last = builder.input(8, 8, 8);
    while (length-- > 0)
        last = builder.activation(last);
    return builder.take(last);
}

} // namespace overtake::host_profile
