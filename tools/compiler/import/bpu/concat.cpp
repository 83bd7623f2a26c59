// SPDX-License-Identifier: MIT
//
// Concat on the device.
#include "compiler/import/bpu/operators.hpp"

#include <cstddef>
#include <vector>

#include "compiler/import/bpu/order.hpp"
#include "compiler/import/bpu/pairs.hpp"
#include "compiler/import/bpu/parts.hpp"
#include "compiler/import/context.hpp"

namespace overtake::compiler {

void bpu_concat(Context& context) {
    if (context.node->input_size() == 1) {
        context.references[context.node->output(0)] = variable_input(context, 0);
        return;
    }
    int computed = 0; // its order is that of all inputs
    while (computed + 1 < context.node->input_size() && is_constant(context, computed))
        ++computed;
    const Reference first = variable_input(context, computed);
    const std::size_t axis =
        axis_of(context, Attributes(*context.node).integer("axis", 0), first.shape.size());
    const Order order = value_of(context, first).order;
    std::vector<Reference> parts;
    for (int index = 0; index < context.node->input_size(); ++index) {
        const Operand part = operand(context, index);
        const Shape& shape = part.constant ? part.constant->shape : part.reference.shape;
        if (shape.size() != first.shape.size())
            refuse(context, "its inputs differ in rank");
        parts.push_back({part.constant ? device_constant(context, *part.constant, shape, order)
                                       : in_order(context, part.reference, order),
                         shape});
    }
    context.references[context.node->output(0)] =
        joined(context, parts, axis, context.node->output(0));
}

} // namespace overtake::compiler
