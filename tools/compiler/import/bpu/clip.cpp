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
    if (has_input(context, 1) && float_input(context, 1).size() == 1)
        node.clamp_low = float_input(context, 1)[0];
    if (has_input(context, 2) && float_input(context, 2).size() == 1)
        node.clamp_high = float_input(context, 2)[0];
    if (!(node.clamp_low <= node.clamp_high))
        refuse(context, "its minimum is not below its maximum");
    finish_like(context, input, std::move(node));
}

} // namespace overtake::compiler
