// SPDX-License-Identifier: MIT
//
// Functions of one element.
#include <algorithm>

#include "compiler/import/cpu/elements.hpp"
#include "compiler/import/importer.hpp"

namespace overtake::compiler {

void Importer::relu() {
    const Reference input = variable_input(0);
    Node node = new_node(Operator::activation);
    node.clamp_low = 0.0f;
    finish_like(input, std::move(node));
}

void Importer::clip() {
    const Reference input = variable_input(0);
    Node node = new_node(Operator::activation);
    if (has_input(1) && float_input(1).size() == 1)
        node.clamp_low = float_input(1)[0];
    if (has_input(2) && float_input(2).size() == 1)
        node.clamp_high = float_input(2)[0];
    if (!(node.clamp_low <= node.clamp_high))
        refuse("its minimum is not below its maximum");
    finish_like(input, std::move(node));
}

void Importer::function() {
    const Reference input = variable_input(0);
    const auto form = unary_form(*node_);
    if (!form)
        refuse("the operator is not supported");
    Node node = new_node(Operator::activation);
    node.function = cpu::unary_function(form->function, form->reals);
    finish_like(input, std::move(node));
}

} // namespace overtake::compiler
