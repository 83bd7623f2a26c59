// SPDX-License-Identifier: MIT
//
// Tile on the device.
#include "compiler/import/bpu/operators.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/import/bpu/order.hpp"
#include "compiler/import/bpu/parts.hpp"
#include "compiler/import/context.hpp"

namespace overtake::compiler {

void bpu_tile(Context& context) {
    Reference input = variable_input(context, 0);
    const std::vector<std::int64_t> repeats = integers_of(constant_input(context, 1));
    if (repeats.size() != input.shape.size())
        refuse(context, "its repeats do not fit the input");
    input.value = in_order(context, input, value_of(context, input).order);
    for (std::size_t axis = 0; axis < repeats.size(); ++axis) {
        if (repeats[axis] < 1)
            refuse(context, "gives an empty tensor");
        if (repeats[axis] > static_cast<std::int64_t>(most_pieces))
            refuse(context,
                   "repeats its input more than " + std::to_string(most_pieces) + " times");
        if (repeats[axis] > 1)
            input = joined(context,
                           std::vector<Reference>(static_cast<std::size_t>(repeats[axis]), input),
                           axis, context.node->output(0));
    }
    context.references[context.node->output(0)] = input;
}

} // namespace overtake::compiler
