// SPDX-License-Identifier: MIT
//
// CumSum on the CPU.
#include "compiler/import/cpu/operators.hpp"

#include <cstdint>

#include "compiler/import/context.hpp"
#include "compiler/import/cpu/nodes.hpp"

namespace overtake::compiler {

void cpu_cumulative_sum(Context& context) {
    const Attributes attributes(*context.node);
    const Reference input = cpu_input(context, 0);
    const auto axes = integers_of(constant_input(context, 1));
    if (axes.size() != 1)
        refuse(context, "its axis must be a single number");
    const auto axis = static_cast<std::int64_t>(axis_of(context, axes[0], input.shape.size()));
    Reference result = cpu_node(
        context,
        {CpuOpType::cumulative_sum,
         {axis, attributes.integer("exclusive", 0) != 0, attributes.integer("reverse", 0) != 0},
         {}},
        {input}, input.shape);
    result.integer = input.integer;
    finish_cpu(context, result);
}

} // namespace overtake::compiler
