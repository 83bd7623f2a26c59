// SPDX-License-Identifier: MIT
//
// Relu on the device.
#include "compiler/import/bpu/operators.hpp"

#include <utility>

#include "compiler/import/context.hpp"
#include "compiler/import/nodes.hpp"

namespace overtake::compiler {

void bpu_relu(Context& context) {
    const Reference input = variable_input(context, 0);
    Node node = new_node(context, op::Activation{});
    node.clamp_low = 0.0f;
    finish_like(context, input, std::move(node));
}

} // namespace overtake::compiler
