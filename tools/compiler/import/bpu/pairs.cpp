// SPDX-License-Identifier: MIT
#include "compiler/import/bpu/pairs.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/import/bpu/order.hpp"
#include "compiler/import/context.hpp"
#include "compiler/import/nodes.hpp"
#include "compiler/ir/layout.hpp"

namespace overtake::compiler {

std::optional<std::vector<float>> per_channel(const Context& context, const Constant& constant,
                                              const Reference& other) {
    const Value& value = value_of(context, other);
    if (value.channels == 0)
        return std::nullopt;
    if (constant.floats.size() == 1 && constant.shape.size() <= other.shape.size())
        return std::vector<float>(value.channels, constant.floats[0]);
    Shape shape = constant.shape;
    while (shape.size() < other.shape.size())
        shape.insert(shape.begin(), 1);
    const std::size_t axis = value.order == Order::rows ? other.shape.size() - 1 : 1;
    const bool fits = shape.size() == other.shape.size() && axis < shape.size() &&
                      shape[axis] == other.shape[axis] && other.shape[axis] == value.channels &&
                      constant.floats.size() == value.channels;
    return fits ? std::optional(constant.floats) : std::nullopt;
}

ValueId device_constant(Context& context, const Constant& constant, const Shape& shape,
                        Order order) {
    if (constant.floats.size() != element_count(constant.shape))
        refuse(context, "its constant must be float32");
    if (constant.floats.empty())
        refuse(context, "its constant is empty");
    Shape from = constant.shape;
    while (from.size() < shape.size())
        from.insert(from.begin(), 1);
    // An operand that broadcasts along a part of a device dimension has to be written out.
    Shape to = from;
    for (const auto& axes : axes_of_dimensions(laid_out(context, "", shape, order)))
        if (std::ranges::any_of(axes, [&](std::size_t axis) { return from[axis] != 1; }))
            for (std::size_t axis : axes)
                to[axis] = shape[axis];
    Value value = laid_out(
        context, node_name(context) + ":constant" + std::to_string(context.parts++), to, order);
    value.constant.resize(value.elements());
    value.given = constant.given;
    for (std::size_t index = 0; index < value.constant.size(); ++index) {
        std::size_t rest = index, source = 0, step = 1;
        for (std::size_t axis = to.size(); axis-- > 0;) {
            const std::size_t position = rest % static_cast<std::size_t>(to[axis]);
            rest /= static_cast<std::size_t>(to[axis]);
            source += (from[axis] == 1 ? 0 : position) * step;
            step *= static_cast<std::size_t>(from[axis]);
        }
        value.constant[index] = constant.floats[source];
        if (!std::isfinite(value.constant[index]))
            refuse(context, "its constant is not finite");
    }
    context.graph.values.push_back(std::move(value));
    return context.graph.values.size() - 1;
}

bool lie_alike(const Context& context, const Reference& left, const Reference& right) {
    const Value &first = value_of(context, left), &second = value_of(context, right);
    return left.shape == right.shape && first.order == second.order && first.fits_device() &&
           first.channels == second.channels && first.height == second.height &&
           first.width == second.width && first.batch == second.batch;
}

void check_broadcast(const Context& context, ValueId input, ValueId output) {
    const Value &in = context.graph.values[input], &out = context.graph.values[output];
    if ((in.channels != 1 && in.channels != out.channels) ||
        (in.height != 1 && in.height != out.height) || (in.width != 1 && in.width != out.width) ||
        (in.batch != 1 && in.batch != out.batch))
        refuse(context, "shapes " + to_text(in.shape) + " and " + to_text(out.shape) +
                            " do not fit each other on the device");
}

Operand operand(const Context& context, int index) {
    if (is_constant(context, index))
        return {{}, &constant_input(context, index)};
    return {variable_input(context, index), nullptr};
}

Reference add_pair(Context& context, op::Pair::Kind kind, const Operand& left, const Operand& right,
                   const std::string& name) {
    const Operand* const operands[2] = {&left, &right};
    const auto shape_of = [](const Operand& operand) {
        return operand.constant ? operand.constant->shape : operand.reference.shape;
    };
    const Shape shape = broadcast_shape(context, shape_of(left), shape_of(right));
    Node node = new_node(context, op::Pair{kind});
    if (!left.constant && !right.constant && lie_alike(context, left.reference, right.reference)) {
        node.inputs = {left.reference.value, right.reference.value};
        Value value = value_of(context, left.reference);
        value.name = name;
        value.given.reset();
        context.graph.values.push_back(std::move(value));
        node.output = context.graph.values.size() - 1;
    } else {
        const bool left_leads = !left.constant && (right.constant || shape_of(left) == shape);
        const Order order = value_of(context, left_leads ? left.reference : right.reference).order;
        for (const Operand* operand : operands) {
            Reference reference = operand->reference;
            while (reference.shape.size() < shape.size())
                reference.shape.insert(reference.shape.begin(), 1);
            node.inputs.push_back(operand->constant
                                      ? device_constant(context, *operand->constant, shape, order)
                                      : in_order(context, reference, order));
        }
        node.output = add_value(context, name, shape, order);
        for (ValueId input : node.inputs)
            check_broadcast(context, input, node.output);
    }
    add_node(context, std::move(node));
    return {context.graph.nodes.back().output, shape};
}

Reference add_chain(Context& context, op::Pair::Kind kind, const std::string& name) {
    Operand sum = operand(context, 0);
    if (sum.constant && context.node->input_size() == 1)
        refuse(context, "is a constant");
    for (int index = 1; index < context.node->input_size(); ++index) {
        const bool is_last = index + 1 == context.node->input_size();
        const Operand next = operand(context, index);
        if (sum.constant && next.constant)
            refuse(context, "begins with two constants; fold them before export");
        sum = {
            add_pair(context, kind, sum, next, is_last ? name : name + ":" + std::to_string(index)),
            nullptr};
    }
    return sum.reference;
}

void add_function(Context& context, const Reference& input, std::function<float(float)> function) {
    Node node = new_node(context, op::Activation{std::move(function)});
    finish_like(context, input, std::move(node));
}

void add_affine(Context& context, const Reference& input, std::vector<float> scale,
                std::vector<float> offset) {
    op::Convolution scaling{op::Convolution::Kind::depthwise};
    scaling.weights = std::move(scale);
    scaling.bias = std::move(offset);
    Node node = new_node(context, std::move(scaling));
    finish_like(context, input, std::move(node));
}

} // namespace overtake::compiler
