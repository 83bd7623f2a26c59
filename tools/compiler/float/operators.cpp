// SPDX-License-Identifier: MIT
#include "compiler/float/operators.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <variant>
#include <vector>

#include "compiler/ir/block_function.hpp"
#include "overtake_isa.h"

namespace overtake::compiler {
namespace {

using Tensors = std::vector<FloatTensor>;

void run(const op::Pool& pool, const Tensors& inputs, const Value& value, std::vector<float>& out) {
    const FloatTensor& in = inputs[0];
    const Window& window = pool.window;
    const bool is_maximum = pool.kind == op::Pool::Kind::maximum;
    const std::int64_t height = in.value.height, width = in.value.width;
    // Positions below and to the right that count although no element is there.
    const std::int64_t last_row = pool.clips_padding ? height + pool.pad_bottom : 1ll << 40;
    const std::int64_t last_column = pool.clips_padding ? width + pool.pad_right : 1ll << 40;
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
        const auto count = static_cast<double>(pool.count_include_pad ? counted : inside);
        out[index] = is_maximum ? maximum : static_cast<float>(sum / count);
    });
}

template <typename Function>
void run_pair(const Tensors& inputs, const Value& value, std::vector<float>& out,
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

void run(const op::Pair& pair, const Tensors& inputs, const Value& value, std::vector<float>& out) {
    using Kind = op::Pair::Kind;
    switch (pair.kind) {
    case Kind::add:
        return run_pair(inputs, value, out, [](float a, float b) { return a + b; });
    case Kind::subtract:
        return run_pair(inputs, value, out, [](float a, float b) { return a - b; });
    case Kind::multiply:
        return run_pair(inputs, value, out, [](float a, float b) { return a * b; });
    case Kind::maximum:
        return run_pair(inputs, value, out,
                        [](float a, float b) { return std::isnan(b) || a < b ? b : a; });
    case Kind::minimum:
        return run_pair(inputs, value, out,
                        [](float a, float b) { return std::isnan(b) || b < a ? b : a; });
    }
}

void run(const op::Activation& activation, const Tensors& inputs, const Value&,
         std::vector<float>& out) {
    out = inputs[0].data;
    if (activation.function)
        replace_all(out, activation.function);
}

void run(const op::Copy&, const Tensors& inputs, const Value&, std::vector<float>& out) {
    out = inputs[0].data;
}

void run(const op::Reshape&, const Tensors& inputs, const Value&, std::vector<float>& out) {
    out = inputs[0].data;
}

// FloatExecutor computes these two itself.
void run(const op::Convolution&, const Tensors&, const Value&, std::vector<float>&) {}
void run(const op::Cpu&, const Tensors&, const Value&, std::vector<float>&) {}

void run(const op::Concat& concat, const Tensors& inputs, const Value& value,
         std::vector<float>& out) {
    std::size_t first[3] = {};
    for (const FloatTensor& input : inputs) {
        for_each_element(input.value, [&](auto channel, auto y, auto x, std::size_t index) {
            out[value.index(first[axis_channels] + channel, first[axis_height] + y,
                            first[axis_width] + x)] = input.data[index];
        });
        const std::size_t sizes[3] = {input.value.channels, input.value.height, input.value.width};
        first[concat.axis] += sizes[concat.axis];
    }
}

void run(const op::Slice& slice, const Tensors& inputs, const Value& value,
         std::vector<float>& out) {
    const FloatTensor& in = inputs[0];
    const auto source = [&](std::size_t axis, std::size_t position) {
        return slice.stretches[axis].first + position * slice.stretches[axis].step;
    };
    for_each_element(value, [&](auto channel, auto y, auto x, std::size_t index) {
        out[index] = in.data[in.value.index(source(axis_channels, channel), source(axis_height, y),
                                            source(axis_width, x))];
    });
}

// The two pixels between which a position lies, and its distance from the first.
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

void run(const op::Resize& resize, const Tensors& inputs, const Value& value,
         std::vector<float>& out) {
    const FloatTensor& in = inputs[0];
    for_each_element(value, [&](auto channel, auto y, auto x, std::size_t index) {
        const Interpolation row = between(resize.rows, y, in.value.height);
        const Interpolation column = between(resize.columns, x, in.value.width);
        const auto pixel = [&](std::size_t r, std::size_t c) {
            return in.data[in.value.index(channel, r, c)];
        };
        const auto mix = [](float a, float b, float fraction) { return a + (b - a) * fraction; };
        out[index] = resize.kind == op::Resize::Kind::nearest
                         ? pixel(row.first, column.first)
                         : mix(mix(pixel(row.first, column.first), pixel(row.first, column.second),
                                   column.fraction),
                               mix(pixel(row.second, column.first),
                                   pixel(row.second, column.second), column.fraction),
                               row.fraction);
    });
}

void run(const op::MatrixProduct& product, const Tensors& inputs, const Value& value,
         std::vector<float>& out) {
    const Value &left = inputs[0].value, &right = inputs[1].value;
    for_each_element(value, [&](auto column, auto y, auto x, std::size_t index) {
        double sum = 0;
        for (std::uint32_t k = 0; k < left.channels; ++k)
            sum += double{inputs[0].data[left.index(k, y, x)]} *
                   inputs[1].data[right.index(k, right.height > 1 ? y : 0, column)];
        out[index] = static_cast<float>(sum * product.factor);
    });
}

void run(const op::Permute& permute, const Tensors& inputs, const Value& value,
         std::vector<float>& out) {
    const FloatTensor& in = inputs[0];
    for_each_element(value, [&](auto channel, auto y, auto x, std::size_t index) {
        std::size_t source[3] = {};
        source[permute.axes[0]] = y;
        source[permute.axes[1]] = x;
        source[permute.axes[2]] = channel;
        out[index] = in.data[in.value.index(source[2], source[0], source[1])];
    });
}

// Returns the source of a padded position in the tensor; -1 if it is outside.
std::int64_t padded_source(op::Pad::Mode mode, std::int64_t position, std::int64_t size) {
    if (position >= 0 && position < size)
        return position;
    switch (mode) {
    case op::Pad::Mode::edge:
        return std::clamp<std::int64_t>(position, 0, size - 1);
    case op::Pad::Mode::reflect:
        return position < 0 ? -position : 2 * (size - 1) - position;
    default:
        return -1;
    }
}

void run(const op::Pad& padding, const Tensors& inputs, const Value& value,
         std::vector<float>& out) {
    const FloatTensor& in = inputs[0];
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

void run(const op::DepthToSpace& depth_to_space, const Tensors& inputs, const Value& value,
         std::vector<float>& out) {
    const FloatTensor& in = inputs[0];
    const std::uint32_t block = depth_to_space.block;
    for_each_element(value, [&](auto channel, auto y, auto x, std::size_t index) {
        const std::uint32_t place = y % block * block + x % block;
        const std::uint32_t source = depth_to_space.channel_major
                                         ? channel * block * block + place
                                         : place * value.channels + channel;
        out[index] = in.data[in.value.index(source, y / block, x / block)];
    });
}

void run(const op::SpaceToDepth& space_to_depth, const Tensors& inputs, const Value& value,
         std::vector<float>& out) {
    const FloatTensor& in = inputs[0];
    const std::uint32_t block = space_to_depth.block;
    for_each_element(value, [&](auto channel, auto y, auto x, std::size_t index) {
        const std::uint32_t place = channel / in.value.channels;
        out[index] = in.data[in.value.index(channel % in.value.channels, y * block + place / block,
                                            x * block + place % block)];
    });
}

void run(const op::Reduce& reduce, const Tensors& inputs, const Value& value,
         std::vector<float>& out) {
    const FloatTensor& in = inputs[0];
    std::vector<double> results(out.size());
    std::vector<bool> begun(out.size());
    for_each_element(in.value, [&](auto channel, auto y, auto x, std::size_t index) {
        const auto kept = [&](std::uint32_t axis, std::uint32_t position) {
            return reduce.axes & axis ? 0 : position;
        };
        const std::size_t target =
            value.index(kept(OVERTAKE_AXIS_CHANNELS, channel), kept(OVERTAKE_AXIS_HEIGHT, y),
                        kept(OVERTAKE_AXIS_WIDTH, x));
        const double element = in.data[index];
        double& result = results[target];
        if (!begun[target])
            result = element;
        else if (reduce.kind == op::Reduce::Kind::maximum)
            result = std::max(result, element);
        else if (reduce.kind == op::Reduce::Kind::minimum)
            result = std::min(result, element);
        else
            result += element;
        begun[target] = true;
    });
    const double count = reduce.kind == op::Reduce::Kind::mean
                             ? static_cast<double>(in.data.size()) / static_cast<double>(out.size())
                             : 1.0;
    for (std::size_t index = 0; index < out.size(); ++index)
        out[index] = static_cast<float>(results[index] / count);
}

void run(const op::Broadcast&, const Tensors& inputs, const Value& value, std::vector<float>& out) {
    const FloatTensor& in = inputs[0];
    for_each_element(value, [&](auto channel, auto y, auto x, std::size_t index) {
        out[index] =
            in.data[in.value.index(in.value.channels == 1 ? 0 : channel,
                                   in.value.height == 1 ? 0 : y, in.value.width == 1 ? 0 : x)];
    });
}

void run_image(const Node& node, const Tensors& inputs, const Value& value,
               std::vector<float>& out) {
    std::visit([&](const auto& operation) { run(operation, inputs, value, out); }, node.operation);
}

// The images of a value that a node processes one by one; for rows, parts of the height.
struct Images {
    Value value; // one image
    std::size_t step = 0;
    std::vector<float> data = {}; // of the present image

    Images(const Node& node, const Value& whole, std::uint32_t count) : value(whole) {
        if (whole.batch > 1)
            value.batch = 1;
        else if (node.is<op::Permute>())
            value.height /= count;
        else
            return; // it is the same for all images
        step = value.elements_of_image();
    }

    void show(std::size_t image, const std::vector<float>& all) {
        const auto first = all.begin() + static_cast<std::ptrdiff_t>(image * step);
        data.assign(first, first + static_cast<std::ptrdiff_t>(value.elements_of_image()));
    }
};

} // namespace

void run_float(const Node& node, std::uint32_t images, const std::vector<FloatTensor>& inputs,
               const Value& value, std::vector<float>& out) {
    if (const auto* reshape = node.as<op::Reshape>(); reshape && reshape->batches != 0) {
        // The device's bytes do not move, but here the order of ONNX may be another one.
        Node permute = node;
        permute.operation = op::Permute{op::Permute{}.axes, reshape->batches};
        return run_float(permute, std::max({reshape->batches, inputs[0].value.batch, value.batch}),
                         inputs, value, out);
    }
    if (images == 1)
        return run_image(node, inputs, value, out);
    std::vector<Images> parts;
    parts.reserve(inputs.size());
    Tensors tensors;
    for (const FloatTensor& input : inputs) {
        parts.emplace_back(node, input.value, images);
        tensors.push_back({parts.back().value, parts.back().data});
    }
    Images result(node, value, images);
    for (std::size_t image = 0; image < images; ++image) {
        for (std::size_t input = 0; input < inputs.size(); ++input)
            parts[input].show(image, inputs[input].data);
        result.data.resize(result.value.elements_of_image());
        run_image(node, tensors, result.value, result.data);
        std::ranges::copy(result.data,
                          out.begin() + static_cast<std::ptrdiff_t>(image * result.step));
    }
}

} // namespace overtake::compiler
