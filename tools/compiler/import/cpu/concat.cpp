// SPDX-License-Identifier: MIT
//
// Concat on the CPU.
#include "compiler/import/cpu/operators.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/import/attributes.hpp"
#include "compiler/import/context.hpp"
#include "compiler/import/cpu/nodes.hpp"

namespace overtake::compiler {

void cpu_concat(Context& context) {
    std::vector<Reference> inputs;
    for (int index = 0; index < context.node->input_size(); ++index)
        if (!is_constant(context, index) || element_count(constant_input(context, index).shape) > 0)
            inputs.push_back(cpu_input(context, index));
    if (inputs.empty())
        refuse(context, "joins nothing");
    const std::size_t axis =
        axis_of(context, Attributes(*context.node).integer("axis", 0), inputs[0].shape.size());
    std::vector<Shape> shapes;
    bool integer = true;
    for (const Reference& input : inputs) {
        shapes.push_back(input.shape);
        integer = integer && input.integer;
    }
    const Shape shape = joined_shape(context, shapes, axis);
    Reference result = cpu_node(context, {CpuOpType::concat, {static_cast<std::int64_t>(axis)}, {}},
                                inputs, shape);
    result.integer = integer;
    finish_cpu(context, result);
}

} // namespace overtake::compiler
