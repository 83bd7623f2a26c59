// SPDX-License-Identifier: MIT
//
// Expand on the device.
#include "compiler/import/bpu/operators.hpp"

#include <utility>

#include "compiler/import/attributes.hpp"
#include "compiler/import/bpu/order.hpp"
#include "compiler/import/bpu/pairs.hpp"
#include "compiler/import/context.hpp"
#include "compiler/import/nodes.hpp"

namespace overtake::compiler {

// Imports an Expand.  It repeats the element of an axis of the device that has one element.
void bpu_expand(Context& context) {
    Reference input = variable_input(context, 0);
    const Shape shape = expanded_shape(context, input.shape);
    while (input.shape.size() < shape.size())
        input.shape.insert(input.shape.begin(), 1);
    if (input.shape == shape) {
        context.references[context.node->output(0)] = input;
        return;
    }
    const Order order = value_of(context, input).order;
    Node node = new_node(context, op::Broadcast{});
    node.inputs = {in_order(context, input, order)};
    const ValueId output = add_value(context, context.node->output(0), shape, order);
    check_broadcast(context, node.inputs[0], output);
    finish(context, std::move(node), output);
}

} // namespace overtake::compiler
