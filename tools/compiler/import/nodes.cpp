// SPDX-License-Identifier: MIT
#include "compiler/import/nodes.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "compiler/import/context.hpp"
#include "compiler/ir/layout.hpp"

namespace overtake::compiler {

namespace {

// The CPU computes with infinities and with not-a-number, the device has no steps for them.
void check_finite(const Context& context, const Node& node) {
    const auto is_finite = [](float number) { return std::isfinite(number); };
    if (!std::ranges::all_of(node.weights, is_finite) || !std::ranges::all_of(node.bias, is_finite))
        refuse(context, "its constants give numbers that are not finite; check them");
}

// Scales of a constant are those of the node's outputs if there are as many; whether the weights
// are multiples of them, quantisation sees.
void apply_given_weights(const Context& context, Node& node) {
    if (context.node->input_size() < 2 || node.weights.empty())
        return;
    const auto found = context.given.weights.find(context.node->input(1));
    if (found == context.given.weights.end())
        return;
    if (found->second.size() == node.bias.size())
        node.weight_scales = found->second;
    else if (found->second.size() == 1)
        node.weight_scales.assign(node.bias.size(), found->second[0]);
}

} // namespace

bool is_on_device(const Context& context, ValueId value) {
    return std::ranges::any_of(context.graph.nodes, [&](const Node& node) {
        return node.on_bpu() &&
               (node.output == value || std::ranges::find(node.inputs, value) != node.inputs.end());
    });
}

const Node* writer_of(const Context& context, ValueId value) {
    const auto found = std::ranges::find_if(context.graph.nodes,
                                            [&](const Node& node) { return node.output == value; });
    return found == context.graph.nodes.end() ? nullptr : &*found;
}

Value laid_out(const Context& context, const std::string& name, const Shape& shape, Order order) {
    check_size(context, name, shape);
    Value value{name, shape};
    if (!lay_out(value, order))
        refuse(context, "a tensor of shape " + to_text(shape) + " has no form on the device");
    return value;
}

ValueId add_value(Context& context, const std::string& name, const Shape& shape, Order order) {
    context.graph.values.push_back(laid_out(context, name, shape, order));
    return context.graph.values.size() - 1;
}

ValueId add_host_value(Context& context, const std::string& name, const Shape& shape) {
    check_size(context, name, shape);
    Value value{name, shape};
    if (!lay_out(value, shape.size() == 4 && shape[0] == 1 ? Order::planes : Order::rows))
        value.channels = value.height = value.width = 0;
    context.graph.values.push_back(std::move(value));
    return context.graph.values.size() - 1;
}

Node new_node(const Context& context, Operator op) {
    Node node;
    node.name = node_name(context);
    node.onnx_type = context.node->op_type();
    node.op = op;
    return node;
}

void finish(Context& context, Node node, ValueId output) {
    check_finite(context, node);
    node.output = output;
    apply_given_weights(context, node);
    context.references[context.node->output(0)] = {output, context.graph.values[output].shape};
    context.graph.nodes.push_back(std::move(node));
}

void finish_like(Context& context, const Reference& input, Node node) {
    const Shape shape = input.shape;
    if (!value_of(context, input).fits_device())
        refuse(context, "a tensor of shape " + to_text(shape) + " has no form on the device");
    node.inputs.insert(node.inputs.begin(), input.value);
    Value value = value_of(context, input);
    value.name = context.node->output(0);
    value.given.reset();
    context.graph.values.push_back(std::move(value));
    finish(context, std::move(node), context.graph.values.size() - 1);
    context.references[context.node->output(0)].shape = shape;
}

} // namespace overtake::compiler
