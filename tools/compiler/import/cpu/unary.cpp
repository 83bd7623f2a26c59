// SPDX-License-Identifier: MIT
//
// Functions of one element on the CPU.
#include "compiler/import/cpu/operators.hpp"

#include <cstdint>

#include "compiler/import/context.hpp"
#include "compiler/import/cpu/functions.hpp"
#include "compiler/import/cpu/nodes.hpp"

namespace overtake::compiler {

void cpu_unary(Context& context) {
    const Reference input = cpu_input(context, 0);
    const auto form = unary_form(*context.node);
    if (!form)
        refuse(context, "the operator is not supported");
    Reference result = cpu_node(
        context, {CpuOpType::unary, {static_cast<std::int64_t>(form->function)}, form->reals},
        {input}, input.shape);
    result.integer = input.integer || gives_truth(context.node->op_type());
    finish_cpu(context, result);
}

} // namespace overtake::compiler
