// SPDX-License-Identifier: MIT
#include "compiler/float/operators.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "overtake_isa.h"

namespace overtake::compiler {
namespace {

void run_pool(const Node& node, const FloatTensor& in, const Value& value,
              std::vector<float>& out) {
    const Window& window = node.window;
    const std::int64_t height = in.value.height, width = in.value.width;
    // Positions below and to the right that count although nothing is there.
    const std::int64_t last_row = node.clips_padding ? height + node.pad_bottom : 1ll << 40;
    const std::int64_t last_column = node.clips_padding ? width + node.pad_right : 1ll << 40;
    for_each_element(value, [&](auto channel, auto y, auto x, std::size_t index) {
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
                const float here = in.data[in.value.index(channel, static_cast<std::size_t>(row),
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
        return tensor.data[shape.index(shape.channels == 1 ? 0 : channel, shape.height == 1 ? 0 : y,
                                       shape.width == 1 ? 0 : x)];
    };
    for_each_element(value, [&](auto channel, auto y, auto x, std::size_t index) {
        out[index] = function(operand(inputs[0], channel, y, x), operand(inputs[1], channel, y, x));
    });
}

void run_concat(const Node& node, const std::vector<FloatTensor>& inputs, const Value& value,
                std::vector<float>& out) {
    std::size_t first[3] = {};
    for (const FloatTensor& input : inputs) {
        for_each_element(input.value, [&](auto channel, auto y, auto x, std::size_t index) {
            out[value.index(first[axis_channels] + channel, first[axis_height] + y,
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
    for_each_element(value, [&](auto channel, auto y, auto x, std::size_t index) {
        out[index] = in.data[in.value.index(source(axis_channels, channel), source(axis_height, y),
                                            source(axis_width, x))];
    });
}

// Between which two pixels a position lies, and how far from the first.
struct Interpolation {
    std::size_t first, second;
    float fraction;
};

Interpolation between(const Positions& positions, std::uint32_t output, std::uint32_t size) {
    const double position = std::clamp(positions.start + output * positions.step, 0.0, size - 1.0);
    const auto first = static_cast<std::size_t>(position);
    return {first, std::min<std::size_t>(first + 1, size - 1),
            static_cast<float>(position - std::floor(position))};
}

void run_resize(const Node& node, const FloatTensor& in, const Value& value,
                std::vector<float>& out) {
    for_each_element(value, [&](auto channel, auto y, auto x, std::size_t index) {
        const Interpolation row = between(node.rows, y, in.value.height);
        const Interpolation column = between(node.columns, x, in.value.width);
        const auto pixel = [&](std::size_t r, std::size_t c) {
            return in.data[in.value.index(channel, r, c)];
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

void run_matrix_product(const Node& node, const std::vector<FloatTensor>& inputs,
                        const Value& value, std::vector<float>& out) {
    const Value &left = inputs[0].value, &right = inputs[1].value;
    for_each_element(value, [&](auto column, auto y, auto x, std::size_t index) {
        double sum = 0;
        for (std::uint32_t k = 0; k < left.channels; ++k)
            sum += double{inputs[0].data[left.index(k, y, x)]} *
                   inputs[1].data[right.index(k, right.height > 1 ? y : 0, column)];
        out[index] = static_cast<float>(sum * node.factor);
    });
}

void run_permute(const Node& node, const FloatTensor& in, const Value& value,
                 std::vector<float>& out) {
    const std::uint32_t height = value.height / node.batches;
    for_each_element(value, [&](auto channel, auto y, auto x, std::size_t index) {
        std::size_t source[3] = {};
        source[node.axes[0]] = y % height;
        source[node.axes[1]] = x;
        source[node.axes[2]] = channel;
        source[0] += y / height * (in.value.height / node.batches);
        out[index] = in.data[in.value.index(source[2], source[0], source[1])];
    });
}

// Where a padded position lies in the tensor; -1 outside.
std::int64_t padded_source(Padding::Mode mode, std::int64_t position, std::int64_t size) {
    if (position >= 0 && position < size)
        return position;
    switch (mode) {
    case Padding::Mode::edge:
        return std::clamp<std::int64_t>(position, 0, size - 1);
    case Padding::Mode::reflect:
        return position < 0 ? -position : 2 * (size - 1) - position;
    default:
        return -1;
    }
}

void run_pad(const Node& node, const FloatTensor& in, const Value& value, std::vector<float>& out) {
    const Padding& padding = node.padding;
    const std::uint32_t sizes[3] = {in.value.channels, in.value.height, in.value.width};
    const auto source = [&](std::size_t axis, std::uint32_t position) {
        return padded_source(padding.mode, std::int64_t{position} - padding.front[axis],
                             sizes[axis]);
    };
    for_each_element(value, [&](auto channel, auto y, auto x, std::size_t index) {
        const std::int64_t c = source(axis_channels, channel), row = source(axis_height, y),
                           column = source(axis_width, x);
        out[index] =
            std::min({c, row, column}) < 0
                ? padding.fill
                : in.data[in.value.index(static_cast<std::size_t>(c), static_cast<std::size_t>(row),
                                         static_cast<std::size_t>(column))];
    });
}

void run_depth_to_space(const Node& node, const FloatTensor& in, const Value& value,
                        std::vector<float>& out) {
    const std::uint32_t block = node.window.kernel_height;
    for_each_element(value, [&](auto channel, auto y, auto x, std::size_t index) {
        const std::uint32_t place = y % block * block + x % block;
        const std::uint32_t source =
            node.channel_major ? channel * block * block + place : place * value.channels + channel;
        out[index] = in.data[in.value.index(source, y / block, x / block)];
    });
}

void run_space_to_depth(const Node& node, const FloatTensor& in, const Value& value,
                        std::vector<float>& out) {
    const std::uint32_t block = node.window.kernel_height;
    for_each_element(value, [&](auto channel, auto y, auto x, std::size_t index) {
        const std::uint32_t place = channel / in.value.channels;
        out[index] = in.data[in.value.index(channel % in.value.channels, y * block + place / block,
                                            x * block + place % block)];
    });
}

void run_reduce(const Node& node, const FloatTensor& in, const Value& value,
                std::vector<float>& out) {
    std::vector<double> results(out.size());
    std::vector<bool> begun(out.size());
    for_each_element(in.value, [&](auto channel, auto y, auto x, std::size_t index) {
        const auto kept = [&](std::uint32_t axis, std::uint32_t position) {
            return node.reduced_axes & axis ? 0 : position;
        };
        const std::size_t target =
            value.index(kept(OVERTAKE_AXIS_CHANNELS, channel), kept(OVERTAKE_AXIS_HEIGHT, y),
                        kept(OVERTAKE_AXIS_WIDTH, x));
        const double element = in.data[index];
        double& result = results[target];
        if (!begun[target])
            result = element;
        else if (node.reduction == ReduceKind::maximum)
            result = std::max(result, element);
        else if (node.reduction == ReduceKind::minimum)
            result = std::min(result, element);
        else
            result += element;
        begun[target] = true;
    });
    const double count = node.reduction == ReduceKind::mean
                             ? static_cast<double>(in.data.size()) / static_cast<double>(out.size())
                             : 1.0;
    for (std::size_t index = 0; index < out.size(); ++index)
        out[index] = static_cast<float>(results[index] / count);
}

void run_broadcast(const FloatTensor& in, const Value& value, std::vector<float>& out) {
    for_each_element(value, [&](auto channel, auto y, auto x, std::size_t index) {
        out[index] =
            in.data[in.value.index(in.value.channels == 1 ? 0 : channel,
                                   in.value.height == 1 ? 0 : y, in.value.width == 1 ? 0 : x)];
    });
}

} // namespace

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
    case Operator::reshape:
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
    case Operator::matrix_product:
        run_matrix_product(node, inputs, value, out);
        break;
    case Operator::permute:
        run_permute(node, in, value, out);
        break;
    case Operator::pad:
        run_pad(node, in, value, out);
        break;
    case Operator::depth_to_space:
        run_depth_to_space(node, in, value, out);
        break;
    case Operator::space_to_depth:
        run_space_to_depth(node, in, value, out);
        break;
    case Operator::reduce:
        run_reduce(node, in, value, out);
        break;
    case Operator::broadcast:
        run_broadcast(in, value, out);
        break;
    case Operator::cpu: // the executor's
        break;
    }
}

} // namespace overtake::compiler
