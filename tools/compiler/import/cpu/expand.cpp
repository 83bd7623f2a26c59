// SPDX-License-Identifier: MIT
//
// Expand on the CPU.
#include "compiler/import/cpu/operators.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/import/attributes.hpp"
#include "compiler/import/cpu/nodes.hpp"

namespace overtake::compiler {

void cpu_expand(Context& context) {
    const Reference input = cpu_input(context, 0);
    const Shape shape = expanded_shape(context, input.shape);
    const auto from = steps_of(input.shape);
    std::vector<std::int64_t> steps(shape.size(), 0);
    const std::size_t added = shape.size() - input.shape.size();
    for (std::size_t axis = added; axis < shape.size(); ++axis)
        if (input.shape[axis - added] != 1)
            steps[axis] = from[axis - added];
    finish_cpu(context, cpu_view(context, input, 0, steps, shape));
}

} // namespace overtake::compiler
