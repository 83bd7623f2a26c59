// SPDX-License-Identifier: MIT
//
// Conv.
#include "importer.hpp"

#include <algorithm>

#include "overtake_isa.h"

namespace overtake::compiler {

void Importer::convolution() {
    const Attributes attributes(*node_);
    const Reference input = variable_input(0);
    const Shape& shape = constant_input(1).shape;
    const std::vector<float>& weights = float_input(1);
    if (input.shape.size() != 4 || shape.size() != 4)
        refuse("only two-dimensional convolutions are supported");
    const auto dilations = attributes.integers("dilations", {1, 1});
    if (dilations.size() != 2 ||
        std::ranges::any_of(dilations, [](auto size) { return size < 1 || size > max_window; }))
        refuse("dilations must lie in 1.." + std::to_string(max_window));
    const std::int64_t group_count = attributes.integer("group", 1);
    const Value& data = value_of(input);
    if (group_count < 1 || data.channels != shape[1] * group_count || shape[0] % group_count != 0)
        refuse("weights of shape " + to_text(shape) + " do not fit " +
               std::to_string(data.channels) + " channels in " + std::to_string(group_count) +
               " groups");

    // The device has no dilation: the kernel is stretched with zeros.
    const std::int64_t rows = (shape[2] - 1) * dilations[0] + 1;
    const std::int64_t columns = (shape[3] - 1) * dilations[1] + 1;
    if (rows * columns * shape[1] > std::int64_t{OVERTAKE_MAX_KERNEL_ELEMENTS})
        refuse("its kernel has more than " + std::to_string(OVERTAKE_MAX_KERNEL_ELEMENTS) +
               " elements");
    Node node = new_node(Operator::convolution);
    node.window = read_window({rows, columns}, data);
    node.weights.assign(static_cast<std::size_t>(shape[0] * shape[1] * rows * columns), 0.0f);
    for (std::int64_t plane = 0; plane < shape[0] * shape[1]; ++plane)
        for (std::int64_t y = 0; y < shape[2]; ++y)
            for (std::int64_t x = 0; x < shape[3]; ++x)
                node.weights[(plane * rows + y * dilations[0]) * columns + x * dilations[1]] =
                    weights[(plane * shape[2] + y) * shape[3] + x];
    node.bias.assign(static_cast<std::size_t>(shape[0]), 0.0f);
    if (has_input(2)) {
        node.bias = float_input(2);
        if (node.bias.size() != static_cast<std::size_t>(shape[0]))
            refuse("the bias does not have one element per output channel");
    }
    node.groups = static_cast<std::uint32_t>(group_count);
    if (group_count > 1 && shape[1] == 1 && shape[0] == group_count) {
        node.op = Operator::depthwise;
        node.groups = 1;
    }
    node.inputs = {input.value};
    const ValueId output = add_value(node_->output(0), output_shape());
    check_window(node.window, value_of(input), graph_.values[output]);
    finish(std::move(node), output);
}

} // namespace overtake::compiler
