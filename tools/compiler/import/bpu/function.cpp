// SPDX-License-Identifier: MIT
//
// Functions of one element on the device.
#include "compiler/import/bpu/operators.hpp"

#include <utility>

#include "compiler/import/context.hpp"
#include "compiler/import/cpu/functions.hpp"
#include "compiler/import/nodes.hpp"
#include "compiler/ir/block_function.hpp"
#include "cpu/table.hpp"

namespace overtake::compiler {

void bpu_function(Context& context) {
    const Reference input = variable_input(context, 0);
    const auto form = unary_form(*context.node);
    if (!form)
        refuse(context, "the operator is not supported");
    // All samples pass through it: it computes many elements at a time, in vectors.
    const BlockFunction of_many(
        [in_place = cpu::unary_in_place(form->function, form->reals)](std::span<float> numbers) {
            in_place(numbers.data(), numbers.size());
        });
    Node node = new_node(context, op::Activation{of_many});
    finish_like(context, input, std::move(node));
}

} // namespace overtake::compiler
