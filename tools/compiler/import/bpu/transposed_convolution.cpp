// SPDX-License-Identifier: MIT
//
// ConvTranspose on the device.
#include "compiler/import/bpu/operators.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compiler/import/bpu/convolution.hpp"
#include "compiler/import/bpu/order.hpp"
#include "compiler/import/bpu/window.hpp"
#include "compiler/import/context.hpp"
#include "compiler/import/nodes.hpp"
#include "compiler/ir/limits.hpp"
#include "overtake_isa.h"

namespace overtake::compiler {

namespace {

// Reads the padding before each axis, which also determines where the output ends: every output row
// has to be between the first and the last row that an input reaches.
void read_transposed_padding(const Context& context, Window& window, const Value& input,
                             const Value& output) {
    const Attributes attributes(*context.node);
    auto pads = spatial_attribute(context, "pads", 0, input.shape);
    const auto extra = spatial_attribute(context, "output_padding", 0, input.shape);
    const std::string auto_pad = attributes.text("auto_pad", "NOTSET");
    const std::int64_t extents[2] = {window.extent_height(), window.extent_width()};
    const std::int64_t strides[2] = {window.stride_height, window.stride_width};
    const std::int64_t inputs[2] = {input.height, input.width};
    const std::int64_t outputs[2] = {output.height, output.width};
    if (pads.size() != 4 || extra.size() != 2)
        refuse(context, "only two-dimensional convolutions are supported");
    check_between(context, pads, -max_window, max_window, "pads");
    check_between(context, extra, 0, max_window, "output_padding");
    for (int axis = 0; axis < 2; ++axis) {
        const std::int64_t reached = (inputs[axis] - 1) * strides[axis] + extents[axis];
        const std::int64_t total = std::max<std::int64_t>(reached + extra[axis] - outputs[axis], 0);
        if (auto_pad == "VALID")
            pads[axis] = 0;
        else if (auto_pad != "NOTSET" || !attributes.integers("output_shape", {}).empty())
            pads[axis] = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
        else if (pads[axis] + pads[axis + 2] != total)
            refuse(context, "its pads do not give an output of shape " + to_text(output.shape));
        if (strides[axis] > extents[axis])
            refuse(context, "strides larger than the kernel are not supported");
        if (pads[axis] < 0 || pads[axis] >= extents[axis] || pads[axis] > max_window)
            refuse(context, "padding as large as the kernel is not supported");
        if (outputs[axis] + pads[axis] > reached)
            refuse(context, "output padding that no input reaches is not supported");
    }
    window.pad_top = static_cast<std::uint32_t>(pads[0]);
    window.pad_left = static_cast<std::uint32_t>(pads[1]);
}

// Turns (inputs, outputs of a group, kernel) into (outputs, inputs of a group, kernel).
std::vector<float> exchange_channels(const std::vector<float>& weights, const Shape& shape,
                                     std::int64_t groups) {
    const std::int64_t inputs = shape[0] / groups, outputs = shape[1];
    const std::int64_t positions = shape[2] * shape[3];
    std::vector<float> result(weights.size());
    for (std::int64_t group = 0; group < groups; ++group)
        for (std::int64_t i = 0; i < inputs; ++i)
            for (std::int64_t o = 0; o < outputs; ++o)
                std::copy_n(weights.begin() + ((group * inputs + i) * outputs + o) * positions,
                            positions,
                            result.begin() + ((group * outputs + o) * inputs + i) * positions);
    return result;
}

} // namespace

void bpu_transposed_convolution(Context& context) {
    const Reference input = image_input(context, 0);
    Shape shape = constant_input(context, 1).shape;
    if (input.shape.size() == 3 && shape.size() == 3)
        shape.insert(shape.begin() + 2, 1);
    if (shape.size() != 4)
        refuse(context, "only two-dimensional convolutions are supported");
    const std::int64_t group_count = Attributes(*context.node).integer("group", 1);
    if (group_count < 1 || group_count > shape[0] ||
        value_of(context, input).channels != shape[0] || shape[0] % group_count != 0)
        refuse(context, "weights of shape " + to_text(shape) + " do not fit " +
                            std::to_string(value_of(context, input).channels) + " channels in " +
                            std::to_string(group_count) + " groups");
    if (shape[0] / group_count * shape[2] * shape[3] > std::int64_t{OVERTAKE_MAX_KERNEL_ELEMENTS})
        refuse(context, "its kernel has more than " + std::to_string(OVERTAKE_MAX_KERNEL_ELEMENTS) +
                            " elements");
    Node node = new_node(context, op::Convolution{op::Convolution::Kind::transposed});
    auto& convolution = *node.as<op::Convolution>();
    convolution.window = read_taps(context, {shape[2], shape[3]}, input.shape);
    convolution.weights = exchange_channels(float_input(context, 1), shape, group_count);
    convolution.bias = convolution_bias(context, shape[1] * group_count);
    convolution.groups = static_cast<std::uint32_t>(group_count);
    node.inputs = {input.value};
    const ValueId output = add_value(context, context.node->output(0), output_shape(context));
    check_output_channels(context, context.graph.values[output], shape[1] * group_count);
    read_transposed_padding(context, convolution.window, value_of(context, input),
                            context.graph.values[output]);
    finish(context, std::move(node), output);
}

} // namespace overtake::compiler
