// SPDX-License-Identifier: MIT
//
// Clip on the CPU.
#include "compiler/import/cpu/operators.hpp"

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "compiler/import/context.hpp"
#include "compiler/import/cpu/nodes.hpp"
#include "cpu/operation.hpp"

namespace overtake::compiler {

using cpu::Binary;
using cpu::Unary;

namespace {

// Clips by bounds that are only known at run time: the lesser of the maximum and of the greater of
// the minimum and the tensor.
void clip_by_computed_bounds(Context& context) {
    Reference result = cpu_input(context, 0);
    const bool is_integer = result.integer;
    for (const auto& [index, function] :
         {std::pair(1, Binary::maximum), std::pair(2, Binary::minimum)}) {
        if (!has_input(context, index))
            continue;
        Reference bound = cpu_input(context, index);
        if (element_count(bound.shape) != 1)
            refuse(context, "its bounds must be single numbers");
        bound.shape = {};
        result = cpu_node(context, {CpuOpType::binary, {static_cast<std::int64_t>(function)}, {}},
                          {result, bound}, result.shape);
    }
    result.integer = is_integer;
    finish_cpu(context, result);
}

} // namespace

void cpu_clip(Context& context) {
    for (const int bound : {1, 2})
        if (has_input(context, bound) && !is_constant(context, bound))
            return clip_by_computed_bounds(context);
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
