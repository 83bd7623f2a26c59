// SPDX-License-Identifier: MIT
//
// Transpose on the CPU.
#include "compiler/import/cpu/operators.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/import/attributes.hpp"
#include "compiler/import/cpu/nodes.hpp"

namespace overtake::compiler {

void cpu_transpose(Context& context) {
    const Reference input = cpu_input(context, 0);
    const std::vector<std::int64_t> order = permutation(context, input.shape.size());
    const auto from = steps_of(input.shape);
    Shape shape;
    std::vector<std::int64_t> steps;
    for (std::int64_t axis : order) {
        shape.push_back(input.shape[static_cast<std::size_t>(axis)]);
        steps.push_back(from[static_cast<std::size_t>(axis)]);
    }
    finish_cpu(context, cpu_view(context, input, 0, steps, shape));
}

} // namespace overtake::compiler
