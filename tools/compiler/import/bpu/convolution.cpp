// SPDX-License-Identifier: MIT
//
// Conv and ConvTranspose.
#include "compiler/import/importer.hpp"

#include <algorithm>

#include "overtake_isa.h"

namespace overtake::compiler {

std::vector<float> Importer::convolution_bias(std::int64_t outputs) const {
    if (!has_input(2))
        return std::vector<float>(static_cast<std::size_t>(outputs), 0.0f);
    const std::vector<float>& bias = float_input(2);
    if (bias.size() != static_cast<std::size_t>(outputs))
        refuse("the bias does not have one element per output channel");
    return bias;
}

// The shape of the output is what the model says of it, where that contradicts the weights.
void Importer::check_output_channels(const Value& output, std::int64_t channels) const {
    if (output.channels != channels)
        refuse("its output has " + std::to_string(output.channels) + " channels, its weights " +
               std::to_string(channels));
}

void Importer::convolution() {
    const Reference input = image_input(0);
    Shape shape = constant_input(1).shape;
    if (input.shape.size() == 3 && shape.size() == 3)
        shape.insert(shape.begin() + 2, 1);
    if (shape.size() != 4)
        refuse("only two-dimensional convolutions are supported");
    const std::int64_t group_count = Attributes(*node_).integer("group", 1);
    const Value& data = value_of(input);
    if (group_count < 1 || group_count > data.channels || data.channels != shape[1] * group_count ||
        shape[0] % group_count != 0)
        refuse("weights of shape " + to_text(shape) + " do not fit " +
               std::to_string(data.channels) + " channels in " + std::to_string(group_count) +
               " groups");
    if (shape[1] * shape[2] * shape[3] > std::int64_t{OVERTAKE_MAX_KERNEL_ELEMENTS})
        refuse("its kernel has more than " + std::to_string(OVERTAKE_MAX_KERNEL_ELEMENTS) +
               " elements");
    Node node = new_node(Operator::convolution);
    node.window = read_window({shape[2], shape[3]}, data);
    node.weights = float_input(1);
    node.bias = convolution_bias(shape[0]);
    node.groups = static_cast<std::uint32_t>(group_count);
    if (group_count > 1 && shape[1] == 1 && shape[0] == group_count) {
        node.op = Operator::depthwise;
        node.groups = 1;
    }
    node.inputs = {input.value};
    const ValueId output = add_value(node_->output(0), output_shape());
    check_output_channels(graph_.values[output], shape[0]);
    check_window(node.window, value_of(input), graph_.values[output]);
    finish(std::move(node), output);
}

// The padding in front of each axis, which also says where the output ends: every output row has to
// lie between the first and the last that an input reaches.
void Importer::read_transposed_padding(Window& window, const Value& input,
                                       const Value& output) const {
    const Attributes attributes(*node_);
    auto pads = spatial_attribute("pads", 0, input.shape);
    const auto extra = spatial_attribute("output_padding", 0, input.shape);
    const std::string auto_pad = attributes.text("auto_pad", "NOTSET");
    const std::int64_t extents[2] = {window.extent_height(), window.extent_width()};
    const std::int64_t strides[2] = {window.stride_height, window.stride_width};
    const std::int64_t inputs[2] = {input.height, input.width};
    const std::int64_t outputs[2] = {output.height, output.width};
    if (pads.size() != 4 || extra.size() != 2)
        refuse("only two-dimensional convolutions are supported");
    check_between(pads, -max_window, max_window, "pads");
    check_between(extra, 0, max_window, "output_padding");
    for (int axis = 0; axis < 2; ++axis) {
        const std::int64_t reached = (inputs[axis] - 1) * strides[axis] + extents[axis];
        const std::int64_t total = std::max<std::int64_t>(reached + extra[axis] - outputs[axis], 0);
        if (auto_pad == "VALID")
            pads[axis] = 0;
        else if (auto_pad != "NOTSET" || !attributes.integers("output_shape", {}).empty())
            pads[axis] = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
        else if (pads[axis] + pads[axis + 2] != total)
            refuse("its pads do not give an output of shape " + to_text(output.shape));
        if (strides[axis] > extents[axis])
            refuse("strides larger than the kernel are not supported");
        if (pads[axis] < 0 || pads[axis] >= extents[axis] || pads[axis] > max_window)
            refuse("padding as large as the kernel is not supported");
        if (outputs[axis] + pads[axis] > reached)
            refuse("output padding that no input reaches is not supported");
    }
    window.pad_top = static_cast<std::uint32_t>(pads[0]);
    window.pad_left = static_cast<std::uint32_t>(pads[1]);
}

// From (inputs, outputs of a group, kernel) to (outputs, inputs of a group, kernel).
static std::vector<float> exchange_channels(const std::vector<float>& weights, const Shape& shape,
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

void Importer::transposed_convolution() {
    const Reference input = image_input(0);
    Shape shape = constant_input(1).shape;
    if (input.shape.size() == 3 && shape.size() == 3)
        shape.insert(shape.begin() + 2, 1);
    if (shape.size() != 4)
        refuse("only two-dimensional convolutions are supported");
    const std::int64_t group_count = Attributes(*node_).integer("group", 1);
    if (group_count < 1 || group_count > shape[0] || value_of(input).channels != shape[0] ||
        shape[0] % group_count != 0)
        refuse("weights of shape " + to_text(shape) + " do not fit " +
               std::to_string(value_of(input).channels) + " channels in " +
               std::to_string(group_count) + " groups");
    if (shape[0] / group_count * shape[2] * shape[3] > std::int64_t{OVERTAKE_MAX_KERNEL_ELEMENTS})
        refuse("its kernel has more than " + std::to_string(OVERTAKE_MAX_KERNEL_ELEMENTS) +
               " elements");
    Node node = new_node(Operator::transposed_convolution);
    node.window = read_taps({shape[2], shape[3]}, input.shape);
    node.weights = exchange_channels(float_input(1), shape, group_count);
    node.bias = convolution_bias(shape[1] * group_count);
    node.groups = static_cast<std::uint32_t>(group_count);
    node.inputs = {input.value};
    const ValueId output = add_value(node_->output(0), output_shape());
    check_output_channels(graph_.values[output], shape[1] * group_count);
    read_transposed_padding(node.window, value_of(input), graph_.values[output]);
    finish(std::move(node), output);
}

} // namespace overtake::compiler
