// SPDX-License-Identifier: MIT
//
// Clip on the CPU.
#include "compiler/import/cpu/operators.hpp"

#include <cstdint>
#include <limits>
#include <vector>

#include "compiler/import/context.hpp"
#include "compiler/import/cpu/nodes.hpp"
#include "cpu/operation.hpp"

namespace overtake::compiler {

using cpu::Unary;

void cpu_clip(Context& context) {
    const Reference input = cpu_input(context, 0);
    const auto bound = [&](int index, float otherwise) {
        if (!has_input(context, index))
            return otherwise;
        const std::vector<float> values = reals_of(constant_input(context, index));
        if (values.size() != 1)
            refuse(context, "its bounds must be single numbers");
        return values[0];
    };
    const float infinity = std::numeric_limits<float>::infinity();
    Reference result = cpu_node(context,
                                {CpuOpType::unary,
                                 {static_cast<std::int64_t>(Unary::clip)},
                                 {bound(1, -infinity), bound(2, infinity)}},
                                {input}, input.shape);
    result.integer = input.integer;
    finish_cpu(context, result);
}

} // namespace overtake::compiler
