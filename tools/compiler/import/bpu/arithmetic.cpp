// SPDX-License-Identifier: MIT
//
// Add, Sub, Mul and Div on the device.
#include "compiler/import/bpu/operators.hpp"

#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "compiler/import/bpu/pairs.hpp"
#include "compiler/import/context.hpp"
#include "compiler/import/nodes.hpp"
#include "compiler/passes/fuse_elementwise.hpp"

namespace overtake::compiler {

namespace {

// Imports a quotient of two functions of one tensor, such as x / (1 + exp(-x)), which becomes one
// function.  Refuses other quotients: 8 bits are too few for the inverse of a tensor.
void quotient(Context& context) {
    const Reference left = variable_input(context, 0), right = variable_input(context, 1);
    const auto writer = [&](ValueId value) { return writer_of(context, value); };
    if (!lie_alike(context, left, right) || element_root(context.graph, left.value, writer) !=
                                                element_root(context.graph, right.value, writer))
        refuse(context, "is supported with a constant, or of two functions of one tensor");
    const std::string name = context.node->output(0);
    add_function(context, right, [](float x) { return 1 / x; });
    const Reference inverse = context.references.at(name);
    context.graph.values[inverse.value].name = name + ":inverse";
    context.references[name] =
        add_pair(context, op::Pair::Kind::multiply, {left, nullptr}, {inverse, nullptr}, name);
}

// Adds a scaling by one number per channel, which is the first or the second operand.
void add_scaling(Context& context, const Reference& input, const std::vector<float>& operand,
                 int constant_index) {
    const std::string& type = context.node->op_type();
    std::vector<float> scale(operand.size(), 1.0f), offset(operand.size(), 0.0f);
    for (std::size_t channel = 0; channel < operand.size(); ++channel) {
        if (type == "Mul")
            scale[channel] = operand[channel];
        else if (type == "Div")
            scale[channel] = 1.0f / operand[channel];
        else if (type == "Add")
            offset[channel] = operand[channel];
        else if (constant_index == 1)
            offset[channel] = -operand[channel];
        else
            scale[channel] = -1.0f, offset[channel] = operand[channel];
        if (!std::isfinite(scale[channel]) || !std::isfinite(offset[channel]))
            refuse(context, "its constant is not finite, or divides by zero");
    }
    add_affine(context, input, std::move(scale), std::move(offset));
}

} // namespace

// Imports Sub, Mul, Div and Add; with a constant per channel they become a scale and an offset.
void bpu_arithmetic(Context& context) {
    const std::string& type = context.node->op_type();
    const op::Pair::Kind kind = type == "Add"   ? op::Pair::Kind::add
                                : type == "Sub" ? op::Pair::Kind::subtract
                                                : op::Pair::Kind::multiply;
    if (!is_constant(context, 0) && !is_constant(context, 1)) {
        if (type == "Div")
            return quotient(context);
        context.references[context.node->output(0)] = add_pair(
            context, kind, operand(context, 0), operand(context, 1), context.node->output(0));
        return;
    }
    const int constant_index = is_constant(context, 0) ? 0 : 1;
    const Reference input = variable_input(context, 1 - constant_index);
    const Constant& constant = constant_input(context, constant_index);
    if (const auto numbers = per_channel(context, constant, input)) {
        const bool is_quotient = type == "Div" && constant_index == 0;
        if (is_quotient && constant.floats.size() != 1)
            refuse(context, "divides constants that differ");
        if (is_quotient)
            return add_function(context, input,
                                [dividend = constant.floats[0]](float x) { return dividend / x; });
        return add_scaling(context, input, *numbers, constant_index);
    }
    if (type != "Div") {
        context.references[context.node->output(0)] = add_pair(
            context, kind, operand(context, 0), operand(context, 1), context.node->output(0));
        return;
    }
    if (constant_index == 0)
        refuse(context, "divides constants that differ");
    Constant inverse = constant;
    for (float& number : inverse.floats)
        number = 1.0f / number;
    context.references[context.node->output(0)] =
        add_pair(context, kind, {input, nullptr}, {{}, &inverse}, context.node->output(0));
}

} // namespace overtake::compiler
