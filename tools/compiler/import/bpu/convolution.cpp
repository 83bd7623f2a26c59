// SPDX-License-Identifier: MIT
#include "compiler/import/bpu/convolution.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compiler/import/bpu/order.hpp"
#include "compiler/import/bpu/window.hpp"
#include "compiler/import/context.hpp"
#include "compiler/import/nodes.hpp"
#include "overtake_isa.h"

namespace overtake::compiler {

std::vector<float> convolution_bias(const Context& context, std::int64_t outputs) {
    if (!has_input(context, 2))
        return std::vector<float>(static_cast<std::size_t>(outputs), 0.0f);
    const std::vector<float>& bias = float_input(context, 2);
    if (bias.size() != static_cast<std::size_t>(outputs))
        refuse(context, "the bias does not have one element per output channel");
    return bias;
}

void check_output_channels(const Context& context, const Value& output, std::int64_t channels) {
    if (output.channels != channels)
        refuse(context, "its output has " + std::to_string(output.channels) +
                            " channels, its weights " + std::to_string(channels));
}

void bpu_convolution(Context& context) {
    const Reference input = image_input(context, 0);
    Shape shape = constant_input(context, 1).shape;
    if (input.shape.size() == 3 && shape.size() == 3)
        shape.insert(shape.begin() + 2, 1);
    if (shape.size() != 4)
        refuse(context, "only two-dimensional convolutions are supported");
    const std::int64_t group_count = Attributes(*context.node).integer("group", 1);
    const Value& data = value_of(context, input);
    if (group_count < 1 || group_count > data.channels || data.channels != shape[1] * group_count ||
        shape[0] % group_count != 0)
        refuse(context, "weights of shape " + to_text(shape) + " do not fit " +
                            std::to_string(data.channels) + " channels in " +
                            std::to_string(group_count) + " groups");
    if (shape[1] * shape[2] * shape[3] > std::int64_t{OVERTAKE_MAX_KERNEL_ELEMENTS})
        refuse(context, "its kernel has more than " + std::to_string(OVERTAKE_MAX_KERNEL_ELEMENTS) +
                            " elements");
    Node node = new_node(context, op::Convolution{});
    auto& convolution = *node.as<op::Convolution>();
    convolution.window = read_window(context, {shape[2], shape[3]}, data);
    convolution.weights = float_input(context, 1);
    convolution.bias = convolution_bias(context, shape[0]);
    convolution.groups = static_cast<std::uint32_t>(group_count);
    if (group_count > 1 && shape[1] == 1 && shape[0] == group_count) {
        convolution.kind = op::Convolution::Kind::depthwise;
        convolution.groups = 1;
    }
    node.inputs = {input.value};
    const ValueId output = add_value(context, context.node->output(0), output_shape(context));
    check_output_channels(context, context.graph.values[output], shape[0]);
    check_window(context, convolution.window, value_of(context, input),
                 context.graph.values[output]);
    finish(context, std::move(node), output);
}

} // namespace overtake::compiler
