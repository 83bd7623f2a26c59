// SPDX-License-Identifier: MIT
//
// Slice on the CPU.
#include "compiler/import/cpu/operators.hpp"

#include <cstdint>
#include <vector>

#include "compiler/import/attributes.hpp"
#include "compiler/import/cpu/nodes.hpp"

namespace overtake::compiler {

void cpu_slice(Context& context) {
    const Reference input = cpu_input(context, 0);
    const std::vector<SlicedAxis> axes = sliced_axes(context, input.shape);
    Shape shape = input.shape;
    std::vector<std::int64_t> steps = steps_of(input.shape);
    std::int64_t offset = 0;
    for (const SlicedAxis& sliced : axes) {
        offset += sliced.first * steps[sliced.axis];
        shape[sliced.axis] = sliced.count;
        steps[sliced.axis] *= sliced.step;
    }
    finish_cpu(context, cpu_view(context, input, offset, steps, shape));
}

} // namespace overtake::compiler
