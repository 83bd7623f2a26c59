// SPDX-License-Identifier: MIT
//
// Max and Min on the device.
#include "compiler/import/bpu/operators.hpp"

#include <utility>
#include <vector>

#include "compiler/import/bpu/pairs.hpp"
#include "compiler/import/context.hpp"
#include "compiler/import/nodes.hpp"
#include "compiler/import/reshapes.hpp"

namespace overtake::compiler {

// Imports Max and Min; of a tensor and a number they are a clamp.
void bpu_extreme(Context& context) {
    const bool is_max = context.node->op_type() == "Max";
    if (context.node->input_size() == 1)
        return import_alias(context);
    if (context.node->input_size() == 2 && (is_constant(context, 0) || is_constant(context, 1))) {
        const int index = is_constant(context, 0) ? 0 : 1;
        const Reference input = variable_input(context, 1 - index);
        const std::vector<float>& bound = float_input(context, index);
        if (bound.size() == 1 &&
            constant_input(context, index).shape.size() <= input.shape.size()) {
            Node node = new_node(context, op::Activation{});
            (is_max ? node.clamp_low : node.clamp_high) = bound[0];
            return finish_like(context, input, std::move(node));
        }
    }
    context.references[context.node->output(0)] =
        add_chain(context, is_max ? op::Pair::Kind::maximum : op::Pair::Kind::minimum,
                  context.node->output(0));
}

} // namespace overtake::compiler
