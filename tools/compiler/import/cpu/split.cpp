// SPDX-License-Identifier: MIT
//
// Split on the CPU.
#include "compiler/import/cpu/operators.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/import/attributes.hpp"
#include "compiler/import/context.hpp"
#include "compiler/import/cpu/nodes.hpp"

namespace overtake::compiler {

void cpu_split(Context& context) {
    const Reference input = cpu_input(context, 0);
    const std::size_t axis =
        axis_of(context, Attributes(*context.node).integer("axis", 0), input.shape.size());
    const std::vector<std::int64_t> sizes = split_sizes(context, input.shape[axis]);
    const auto steps = steps_of(input.shape);
    std::int64_t first = 0;
    for (int index = 0; index < context.node->output_size(); ++index) {
        const std::int64_t count = sizes[static_cast<std::size_t>(index)];
        Shape shape = input.shape;
        shape[axis] = count;
        if (!context.node->output(index).empty())
            finish_cpu(context, cpu_view(context, input, first * steps[axis], steps, shape), index);
        first += count;
    }
}

} // namespace overtake::compiler
