// SPDX-License-Identifier: MIT
//
// Gather on the CPU.
#include "compiler/import/cpu/operators.hpp"

#include <cstddef>
#include <cstdint>

#include "compiler/import/context.hpp"
#include "compiler/import/cpu/nodes.hpp"

namespace overtake::compiler {

void cpu_gather(Context& context) {
    const Reference input = cpu_input(context, 0), indices = cpu_input(context, 1);
    const std::size_t axis =
        axis_of(context, Attributes(*context.node).integer("axis", 0), input.shape.size());
    Shape shape(input.shape.begin(), input.shape.begin() + static_cast<std::ptrdiff_t>(axis));
    shape.insert(shape.end(), indices.shape.begin(), indices.shape.end());
    shape.insert(shape.end(), input.shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1,
                 input.shape.end());
    Reference result = cpu_node(context, {CpuOpType::gather, {static_cast<std::int64_t>(axis)}, {}},
                                {input, indices}, shape);
    result.integer = input.integer;
    finish_cpu(context, result);
}

} // namespace overtake::compiler
