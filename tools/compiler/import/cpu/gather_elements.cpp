// SPDX-License-Identifier: MIT
//
// GatherElements on the CPU.
#include "compiler/import/cpu/operators.hpp"

#include <cstddef>
#include <cstdint>

#include "compiler/import/context.hpp"
#include "compiler/import/cpu/nodes.hpp"

namespace overtake::compiler {

void cpu_gather_elements(Context& context) {
    const Reference input = cpu_input(context, 0), indices = cpu_input(context, 1);
    const std::size_t axis =
        axis_of(context, Attributes(*context.node).integer("axis", 0), input.shape.size());
    Reference result =
        cpu_node(context, {CpuOpType::gather_elements, {static_cast<std::int64_t>(axis)}, {}},
                 {input, indices}, indices.shape);
    result.integer = input.integer;
    finish_cpu(context, result);
}

} // namespace overtake::compiler
