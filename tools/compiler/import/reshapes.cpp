// SPDX-License-Identifier: MIT
#include "compiler/import/reshapes.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

#include "compiler/import/context.hpp"
#include "compiler/import/cpu/nodes.hpp"

namespace overtake::compiler {

void import_flatten(Context& context) {
    Reference input = cpu_input(context, 0);
    const auto rank = static_cast<std::int64_t>(input.shape.size());
    std::int64_t axis = Attributes(*context.node).integer("axis", 1);
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis > rank)
        refuse(context, "its axis lies outside the tensor");
    const auto product = [](auto first, auto last) {
        return std::accumulate(first, last, std::int64_t{1}, std::multiplies<>());
    };
    input.shape = {product(input.shape.begin(), input.shape.begin() + axis),
                   product(input.shape.begin() + axis, input.shape.end())};
    context.references[context.node->output(0)] = input;
}

void import_reshape(Context& context) {
    Reference input = cpu_input(context, 0);
    Shape shape = integers_of(constant_input(context, 1));
    const bool allows_zero = Attributes(*context.node).integer("allowzero", 0) != 0;
    std::int64_t known = 1;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        if (shape[axis] == 0 && !allows_zero && axis < input.shape.size())
            shape[axis] = input.shape[axis];
        if (shape[axis] != -1 && __builtin_mul_overflow(known, shape[axis], &known))
            refuse(context, "gives an impossible shape");
    }
    const auto elements = static_cast<std::int64_t>(element_count(input.shape));
    if (const auto open = std::ranges::find(shape, -1); open != shape.end() && known > 0) {
        *open = elements / known;
        known *= *open;
    }
    if (known != elements || std::ranges::any_of(shape, [](auto size) { return size < 1; }))
        refuse(context, "from " + to_text(input.shape) + " to " + to_text(shape) +
                            " changes the number of elements");
    input.shape = shape;
    context.references[context.node->output(0)] = input;
}

void import_squeeze(Context& context) {
    Reference input = cpu_input(context, 0);
    auto axes = Attributes(*context.node).integers("axes", {});
    if (has_input(context, 1))
        axes = integers_of(constant_input(context, 1));
    const bool all = axes.empty();
    Shape shape;
    for (std::int64_t& axis : axes)
        axis = static_cast<std::int64_t>(axis_of(context, axis, input.shape.size()));
    for (std::size_t axis = 0; axis < input.shape.size(); ++axis) {
        const bool named = std::ranges::count(axes, static_cast<std::int64_t>(axis)) > 0;
        if (named && input.shape[axis] != 1)
            refuse(context, "removes a dimension that is not 1");
        if (!named && !(all && input.shape[axis] == 1))
            shape.push_back(input.shape[axis]);
    }
    input.shape = shape;
    context.references[context.node->output(0)] = input;
}

void import_unsqueeze(Context& context) {
    Reference input = cpu_input(context, 0);
    auto axes = Attributes(*context.node).integers("axes", {});
    if (has_input(context, 1))
        axes = integers_of(constant_input(context, 1));
    const std::size_t rank = input.shape.size() + axes.size();
    for (std::int64_t& axis : axes)
        axis = static_cast<std::int64_t>(axis_of(context, axis, rank));
    std::ranges::sort(axes);
    if (std::ranges::adjacent_find(axes) != axes.end())
        refuse(context, "names an axis twice");
    for (std::int64_t axis : axes)
        input.shape.insert(input.shape.begin() + axis, 1);
    context.references[context.node->output(0)] = input;
}

void import_alias(Context& context) {
    if (context.node->output_size() > 1 && !context.node->output(1).empty())
        refuse(context, "its second output is not supported");
    // The third input of a Dropout, which no other of these operators has.
    if (has_input(context, 2) &&
        (!is_constant(context, 2) || reals_of(constant_input(context, 2)) != std::vector{0.0f}))
        refuse(context, "is in training mode; export the model for inference");
    context.references[context.node->output(0)] = Reference(cpu_input(context, 0));
}

} // namespace overtake::compiler
