// SPDX-License-Identifier: MIT
//
// TopK on the CPU.
#include "compiler/import/cpu/operators.hpp"

#include <cstddef>
#include <cstdint>

#include "compiler/import/context.hpp"
#include "compiler/import/cpu/nodes.hpp"

namespace overtake::compiler {

void cpu_top_k(Context& context) {
    const Attributes attributes(*context.node);
    const Reference input = cpu_input(context, 0);
    const std::size_t axis = axis_of(context, attributes.integer("axis", -1), input.shape.size());
    const auto count = integers_of(constant_input(context, 1));
    Shape shape = input.shape;
    if (count.size() != 1 || count[0] < 1 || count[0] > shape[axis])
        refuse(context, "its number of elements lies outside the axis");
    shape[axis] = count[0];
    for (int output = 0; output < context.node->output_size(); ++output) {
        if (context.node->output(output).empty())
            continue;
        Reference result =
            cpu_node(context,
                     {CpuOpType::top_k,
                      {static_cast<std::int64_t>(axis), attributes.integer("largest", 1), output},
                      {}},
                     {input}, shape);
        result.integer = output == 1 || input.integer;
        finish_cpu(context, result, output);
    }
}

} // namespace overtake::compiler
