// SPDX-License-Identifier: MIT
//
// Clip on the device.
#include "compiler/import/bpu/operators.hpp"

#include <utility>

#include "compiler/import/context.hpp"
#include "compiler/import/nodes.hpp"

namespace overtake::compiler {

void bpu_clip(Context& context) {
    const Reference input = variable_input(context, 0);
    Node node = new_node(context, op::Activation{});
    for (const int bound : {1, 2})
        if (has_input(context, bound) && float_input(context, bound).size() != 1)
            refuse(context, "its bounds must be single numbers");
    if (has_input(context, 1))
        node.clamp_low = float_input(context, 1)[0];
    if (has_input(context, 2))
        node.clamp_high = float_input(context, 2)[0];
    if (!(node.clamp_low <= node.clamp_high))
        refuse(context, "its minimum is not below its maximum");
    finish_like(context, input, std::move(node));
}

} // namespace overtake::compiler
