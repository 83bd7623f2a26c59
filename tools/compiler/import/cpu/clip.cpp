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

using cpu::Binary;
using cpu::Unary;

namespace {

bool is_constant_bound(const Context& context, int index) {
    return !has_input(context, index) || context.constants.contains(input_name(context, index));
}

// Some bounds depend on the tensor itself: decibels are cut some way below its maximum.
void clip_to_computed_bounds(Context& context, const Reference& input) {
    Reference result = input;
    const auto apply = [&](int index, Binary function) {
        if (!has_input(context, index))
            return;
        const Reference bound = cpu_input(context, index);
        if (element_count(bound.shape) != 1)
            refuse(context, "its bounds must be single numbers");
        result = cpu_node(context,
                          {CpuOpType::binary, {static_cast<std::int64_t>(function)}, {}},
                          {result, bound}, input.shape);
    };
    // In this order: ONNX gives the upper bound where the lower one is above it.
    apply(1, Binary::maximum);
    apply(2, Binary::minimum);
    result.integer = input.integer;
    finish_cpu(context, result);
}

} // namespace

void cpu_clip(Context& context) {
    const Reference input = cpu_input(context, 0);
    if (!is_constant_bound(context, 1) || !is_constant_bound(context, 2))
        return clip_to_computed_bounds(context, input);
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
