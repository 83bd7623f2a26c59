// SPDX-License-Identifier: MIT
//
// Conv and ConvTranspose on the CPU.
#include "compiler/import/cpu/operators.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/import/attributes.hpp"
#include "compiler/import/context.hpp"
#include "compiler/import/cpu/nodes.hpp"
#include "compiler/import/cpu/window.hpp"
#include "compiler/ir/limits.hpp"

namespace overtake::compiler {

void cpu_convolution(Context& context) {
    for (int index : {1, 2})
        check_weights(context, index);
    const Attributes attributes(*context.node);
    const Reference input = cpu_input(context, 0), weights = cpu_input(context, 1);
    const bool transposed = context.node->op_type() == "ConvTranspose";
    const Shape shape = output_shape(context);
    if (input.shape.size() < 3 || weights.shape.size() != input.shape.size() ||
        shape.size() != input.shape.size())
        refuse(context, "input and weights do not fit each other");
    const std::size_t axes = input.shape.size() - 2;
    const std::vector<std::int64_t> ones(axes, 1);
    const auto strides = attributes.integers("strides", ones);
    const auto dilations = attributes.integers("dilations", ones);
    if (strides.size() != axes || dilations.size() != axes)
        refuse(context, "its strides or dilations do not fit the input");
    check_between(context, strides, 1, max_dimension, "strides");
    check_between(context, dilations, 1, max_dimension, "dilations");
    const auto spatial = [](const Shape& whole) { return Shape(whole.begin() + 2, whole.end()); };
    std::vector<std::int64_t> extents = spatial(weights.shape);
    for (std::size_t axis = 0; axis < axes; ++axis)
        extents[axis] = (extents[axis] - 1) * dilations[axis] + 1;
    std::vector<std::int64_t> integers = {transposed, attributes.integer("group", 1)};
    const bool is_given = attributes.integers("output_shape", {}).empty();
    const auto pads =
        padding_of(context, extents, strides, spatial(transposed ? shape : input.shape),
                   spatial(transposed ? input.shape : shape), is_given);
    for (const auto* part : {&strides, &dilations, &pads})
        integers.insert(integers.end(), part->begin(), part->end());
    std::vector<Reference> inputs = {input, weights};
    if (has_input(context, 2))
        inputs.push_back(cpu_input(context, 2));
    finish_cpu(context, cpu_node(context, {CpuOpType::convolution, integers, {}}, inputs, shape));
}

} // namespace overtake::compiler
