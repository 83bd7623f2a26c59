// SPDX-License-Identifier: MIT
#include "float_operators.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace overtake::compiler {
namespace {

std::size_t element(const Value& value, std::size_t channel, std::size_t y, std::size_t x) {
    return (channel * value.height + y) * value.width + x;
}

// Calls function(channel, y, x, index) for every element in ONNX's order.
template <typename Function>
void for_each(const Value& value, const Function& function) {
    std::size_t index = 0;
    for (std::uint32_t channel = 0; channel < value.channels; ++channel)
        for (std::uint32_t y = 0; y < value.height; ++y)
            for (std::uint32_t x = 0; x < value.width; ++x)
                function(channel, y, x, index++);
}

void run_pool(const Node& node, const FloatTensor& in, const Value& value,
              std::vector<float>& out) {
    const Window& window = node.window;
    const std::int64_t height = in.value.height, width = in.value.width;
    // Positions below and to the right that count although nothing is there.
    const std::int64_t last_row = node.clips_padding ? height + node.pad_bottom : 1ll << 40;
    const std::int64_t last_column = node.clips_padding ? width + node.pad_right : 1ll << 40;
    for_each(value, [&](auto channel, auto y, auto x, std::size_t index) {
        float maximum = -std::numeric_limits<float>::infinity();
        double sum = 0;
        std::int64_t inside = 0, counted = 0;
        for (std::uint32_t ky = 0; ky < window.kernel_height; ++ky)
            for (std::uint32_t kx = 0; kx < window.kernel_width; ++kx) {
                const std::int64_t row = std::int64_t{y} * window.stride_height - window.pad_top +
                                         std::int64_t{ky} * window.dilation_height;
                const std::int64_t column = std::int64_t{x} * window.stride_width -
                                            window.pad_left +
                                            std::int64_t{kx} * window.dilation_width;
                counted += row < last_row && column < last_column;
                if (row < 0 || row >= height || column < 0 || column >= width)
                    continue;
                const float here = in.data[element(in.value, channel, static_cast<std::size_t>(row),
                                                   static_cast<std::size_t>(column))];
                maximum = std::max(maximum, here);
                sum += here;
                ++inside;
            }
        const auto count = static_cast<double>(node.count_include_pad ? counted : inside);
        out[index] = node.op == Operator::max_pool ? maximum : static_cast<float>(sum / count);
    });
}

template <typename Function>
void run_binary(const std::vector<FloatTensor>& inputs, const Value& value, std::vector<float>& out,
                const Function& function) {
    const auto operand = [](const FloatTensor& tensor, std::size_t channel, std::size_t y,
                            std::size_t x) {
        const Value& shape = tensor.value;
        return tensor.data[element(shape, shape.channels == 1 ? 0 : channel,
                                   shape.height == 1 ? 0 : y, shape.width == 1 ? 0 : x)];
    };
    for_each(value, [&](auto channel, auto y, auto x, std::size_t index) {
        out[index] = function(operand(inputs[0], channel, y, x), operand(inputs[1], channel, y, x));
    });
}

void run_concat(const Node& node, const std::vector<FloatTensor>& inputs, const Value& value,
                std::vector<float>& out) {
    std::size_t first[3] = {};
    for (const FloatTensor& input : inputs) {
        for_each(input.value, [&](auto channel, auto y, auto x, std::size_t index) {
            out[element(value, first[axis_channels] + channel, first[axis_height] + y,
                        first[axis_width] + x)] = input.data[index];
        });
        const std::size_t sizes[3] = {input.value.channels, input.value.height, input.value.width};
        first[node.device_axis] += sizes[node.device_axis];
    }
}

void run_slice(const Node& node, const FloatTensor& in, const Value& value,
               std::vector<float>& out) {
    const auto source = [&](std::size_t axis, std::size_t position) {
        return node.stretches[axis].first + position * node.stretches[axis].step;
    };
    for_each(value, [&](auto channel, auto y, auto x, std::size_t index) {
        out[index] = in.data[element(in.value, source(axis_channels, channel),
                                     source(axis_height, y), source(axis_width, x))];
    });
}

// Between which two pixels a position lies, and how far from the first.
struct Between {
    std::size_t first, second;
    float fraction;
};

Between between(const Positions& positions, std::uint32_t output, std::uint32_t size) {
    const double position = std::clamp(positions.start + output * positions.step, 0.0, size - 1.0);
    const auto first = static_cast<std::size_t>(position);
    return {first, std::min<std::size_t>(first + 1, size - 1),
            static_cast<float>(position - std::floor(position))};
}

void run_resize(const Node& node, const FloatTensor& in, const Value& value,
                std::vector<float>& out) {
    for_each(value, [&](auto channel, auto y, auto x, std::size_t index) {
        const Between row = between(node.rows, y, in.value.height);
        const Between column = between(node.columns, x, in.value.width);
        const auto pixel = [&](std::size_t r, std::size_t c) {
            return in.data[element(in.value, channel, r, c)];
        };
        const auto mix = [](float a, float b, float fraction) { return a + (b - a) * fraction; };
        out[index] = node.op == Operator::resize_nearest
                         ? pixel(row.first, column.first)
                         : mix(mix(pixel(row.first, column.first), pixel(row.first, column.second),
                                   column.fraction),
                               mix(pixel(row.second, column.first),
                                   pixel(row.second, column.second), column.fraction),
                               row.fraction);
    });
}

} // namespace

// (outer, axis, inner) of the ONNX shape.
void softmax(const Node& node, const Value& value, const std::vector<float>& source,
             std::vector<float>& target) {
    std::size_t inner = 1;
    for (std::size_t axis = static_cast<std::size_t>(node.axis) + 1; axis < value.shape.size();
         ++axis)
        inner *= static_cast<std::size_t>(value.shape[axis]);
    const auto length = static_cast<std::size_t>(value.shape[static_cast<std::size_t>(node.axis)]);
    for (std::size_t start = 0; start < source.size(); start += length * inner)
        for (std::size_t offset = 0; offset < inner; ++offset) {
            const float* in = source.data() + start + offset;
            float* out = target.data() + start + offset;
            float maximum = in[0];
            for (std::size_t i = 1; i < length; ++i)
                maximum = std::max(maximum, in[i * inner]);
            float sum = 0;
            for (std::size_t i = 0; i < length; ++i)
                sum += out[i * inner] = std::exp(in[i * inner] - maximum);
            for (std::size_t i = 0; i < length; ++i)
                out[i * inner] /= sum;
        }
}

void run_float(const Node& node, const std::vector<FloatTensor>& inputs, const Value& value,
               std::vector<float>& out) {
    const FloatTensor& in = inputs[0];
    switch (node.op) {
    case Operator::convolution:
    case Operator::depthwise:
    case Operator::transposed_convolution:
        break;
    case Operator::add:
        run_binary(inputs, value, out, [](float a, float b) { return a + b; });
        break;
    case Operator::subtract:
        run_binary(inputs, value, out, [](float a, float b) { return a - b; });
        break;
    case Operator::multiply:
        run_binary(inputs, value, out, [](float a, float b) { return a * b; });
        break;
    case Operator::maximum:
        run_binary(inputs, value, out, [](float a, float b) { return std::max(a, b); });
        break;
    case Operator::minimum:
        run_binary(inputs, value, out, [](float a, float b) { return std::min(a, b); });
        break;
    case Operator::max_pool:
    case Operator::average_pool:
        run_pool(node, in, value, out);
        break;
    case Operator::activation:
        if (node.function)
            std::ranges::transform(in.data, out.begin(), node.function);
        else
            out = in.data;
        break;
    case Operator::copy:
        out = in.data;
        break;
    case Operator::concat:
        run_concat(node, inputs, value, out);
        break;
    case Operator::slice:
        run_slice(node, in, value, out);
        break;
    case Operator::resize_nearest:
    case Operator::resize_bilinear:
        run_resize(node, in, value, out);
        break;
    case Operator::softmax:
        softmax(node, value, in.data, out);
        break;
    }
}

} // namespace overtake::compiler
