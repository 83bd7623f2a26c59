// SPDX-License-Identifier: MIT
//
// Tile on the CPU.
#include "compiler/import/cpu/operators.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/import/context.hpp"
#include "compiler/import/cpu/nodes.hpp"
#include "compiler/ir/limits.hpp"

namespace overtake::compiler {

namespace {

// Repeats the first three axes that have to be repeated, and notes in `repeats` that they are.
// Each becomes two axes of a view: the outer one has a step of 0, and the inner one is joined with
// the axes that follow.  A view has at most eight axes.
Reference cpu_repeated(Context& context, const Reference& input,
                       std::vector<std::int64_t>& repeats) {
    constexpr std::size_t most_parts = 1 + 2 * 3;
    const auto from = steps_of(input.shape);
    Shape shape = input.shape, parts = {1};
    std::vector<std::int64_t> steps = {0};
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        if (repeats[axis] > 1 && parts.size() < most_parts) {
            parts.insert(parts.end(), {repeats[axis], 1});
            steps.insert(steps.end(), {0, 0});
            if (__builtin_mul_overflow(shape[axis], repeats[axis], &shape[axis]))
                refuse(context, "gives a huge tensor");
            repeats[axis] = 1;
        }
        parts.back() *= input.shape[axis];
        steps.back() = from[axis];
    }
    Reference result = cpu_view(context, input, 0, steps, parts);
    result.shape = shape;
    return result;
}

} // namespace

void cpu_tile(Context& context) {
    Reference result = cpu_input(context, 0);
    std::vector<std::int64_t> repeats = integers_of(constant_input(context, 1));
    if (repeats.size() != result.shape.size())
        refuse(context, "its repeats do not fit the input");
    if (std::ranges::count(repeats, 0) > 0)
        refuse(context, "gives an empty tensor");
    check_between(context, repeats, 1, max_elements, "its repeats");
    while (std::ranges::any_of(repeats, [](std::int64_t count) { return count > 1; }))
        result = cpu_repeated(context, result, repeats);
    finish_cpu(context, result);
}

} // namespace overtake::compiler
