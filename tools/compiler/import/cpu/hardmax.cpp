// SPDX-License-Identifier: MIT
//
// Hardmax on the CPU: 1 where the position along the axis is that of the first greatest element.
#include "compiler/import/cpu/operators.hpp"

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "compiler/import/context.hpp"
#include "compiler/import/cpu/nodes.hpp"
#include "cpu/operation.hpp"

namespace overtake::compiler {

void cpu_hardmax(Context& context) {
    const Reference input = cpu_input(context, 0);
    const std::size_t axis =
        axis_of(context, Attributes(*context.node).integer("axis", -1), input.shape.size());
    Shape reduced = input.shape, along(input.shape.size(), 1);
    reduced[axis] = 1;
    along[axis] = input.shape[axis];
    std::vector<float> numbers(static_cast<std::size_t>(input.shape[axis]));
    std::iota(numbers.begin(), numbers.end(), 0.0f);
    const Reference greatest = cpu_node(context,
                                        {CpuOpType::reduce,
                                         {static_cast<std::int64_t>(cpu::Reduction::first_greatest),
                                          static_cast<std::int64_t>(axis)},
                                         {}},
                                        {input}, reduced);
    const Reference positions = cpu_constant(context, along, std::move(numbers));
    finish_cpu(context,
               cpu_node(context,
                        {CpuOpType::binary, {static_cast<std::int64_t>(cpu::Binary::equal)}, {}},
                        {greatest, positions}, input.shape));
}

} // namespace overtake::compiler
