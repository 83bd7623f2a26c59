// SPDX-License-Identifier: MIT
//
// Functions of one element on the device.
#include "compiler/import/bpu/operators.hpp"

#include <utility>

#include "compiler/import/context.hpp"
#include "compiler/import/cpu/functions.hpp"
#include "compiler/import/nodes.hpp"

namespace overtake::compiler {

void bpu_function(Context& context) {
    const Reference input = variable_input(context, 0);
    const auto form = unary_form(*context.node);
    if (!form)
        refuse(context, "the operator is not supported");
    Node node = new_node(context, op::Activation{cpu::unary_function(form->function, form->reals)});
    finish_like(context, input, std::move(node));
}

} // namespace overtake::compiler
