// SPDX-License-Identifier: MIT
//
// ArgMax and ArgMin on the CPU.
#include "compiler/import/cpu/operators.hpp"

#include <cstdint>

#include "compiler/import/attributes.hpp"
#include "compiler/import/context.hpp"
#include "compiler/import/cpu/nodes.hpp"
#include "cpu/operation.hpp"

namespace overtake::compiler {

using cpu::Reduction;

void cpu_arg_reduce(Context& context) {
    const Attributes attributes(*context.node);
    const Reference input = cpu_input(context, 0);
    const auto axis = static_cast<std::int64_t>(
        axis_of(context, attributes.integer("axis", 0), input.shape.size()));
    const bool last = attributes.integer("select_last_index", 0) != 0;
    Reduction function = last ? Reduction::last_greatest : Reduction::first_greatest;
    if (context.node->op_type() == "ArgMin")
        function = last ? Reduction::last_least : Reduction::first_least;
    Reference result =
        cpu_node(context, {CpuOpType::reduce, {static_cast<std::int64_t>(function), axis}, {}},
                 {input}, reduced_shape(context, input.shape, {axis}));
    result.integer = true;
    finish_cpu(context, result);
}

} // namespace overtake::compiler
