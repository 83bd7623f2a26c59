// SPDX-License-Identifier: MIT
//
// MaxPool and AveragePool on the CPU.
#include "compiler/import/cpu/operators.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "compiler/import/context.hpp"
#include "compiler/import/cpu/nodes.hpp"
#include "compiler/import/cpu/window.hpp"
#include "compiler/ir/limits.hpp"

namespace overtake::compiler {

namespace {

bool has_output(const Context& context, int index) {
    return index < context.node->output_size() && !context.node->output(index).empty();
}

} // namespace

void cpu_pool(Context& context) {
    const Attributes attributes(*context.node);
    const Reference input = cpu_input(context, 0);
    const Shape shape = output_shape(context);
    if (input.shape.size() < 3 || shape.size() != input.shape.size())
        refuse(context, "needs channels and at least one axis behind them");
    const std::size_t axes = input.shape.size() - 2;
    const std::vector<std::int64_t> ones(axes, 1);
    const auto kernel = attributes.integers("kernel_shape", {});
    const auto strides = attributes.integers("strides", ones);
    const auto dilations = attributes.integers("dilations", ones);
    if (kernel.size() != axes || strides.size() != axes || dilations.size() != axes)
        refuse(context, "its kernel, strides or dilations do not fit the input");
    check_between(context, kernel, 1, max_dimension, "kernel_shape");
    check_between(context, strides, 1, max_dimension, "strides");
    check_between(context, dilations, 1, max_dimension, "dilations");
    std::vector<std::int64_t> extents(axes);
    for (std::size_t axis = 0; axis < axes; ++axis)
        extents[axis] = (kernel[axis] - 1) * dilations[axis] + 1;
    const Shape sizes(input.shape.begin() + 2, input.shape.end());
    const Shape counts(shape.begin() + 2, shape.end());
    const auto before = padding_of(context, extents, strides, sizes, counts, true);
    auto after = attributes.integers("pads", std::vector<std::int64_t>(2 * axes, 0));
    after.erase(after.begin(), after.begin() + static_cast<std::ptrdiff_t>(axes));
    if (attributes.text("auto_pad", "NOTSET") != "NOTSET")
        for (std::size_t axis = 0; axis < axes; ++axis)
            after[axis] = std::max<std::int64_t>(
                (counts[axis] - 1) * strides[axis] + extents[axis] - sizes[axis] - before[axis], 0);
    const std::vector<std::int64_t> behind = std::move(after);
    for (std::size_t axis = 0; axis < axes; ++axis)
        if ((counts[axis] - 1) * strides[axis] >= sizes[axis] + before[axis])
            refuse(context,
                   "a window lies wholly in the padding behind the tensor, where there is nothing "
                   "to pool; export it with ceil_mode 0 or less padding");
    const bool is_average = context.node->op_type() == "AveragePool";
    const bool counts_padding = attributes.integer("count_include_pad", 0) != 0;
    std::vector<std::int64_t> integers = {!is_average ? 0 : counts_padding ? 2 : 1};
    for (const auto* part : {&kernel, &strides, &dilations, &before, &behind})
        integers.insert(integers.end(), part->begin(), part->end());
    if (has_output(context, 0)) {
        Reference result = cpu_node(context, {CpuOpType::pool, integers, {}}, {input}, shape);
        result.integer = input.integer;
        finish_cpu(context, result);
    }
    if (!has_output(context, 1))
        return;
    if (element_count(input.shape) > static_cast<std::size_t>(max_exact_integer))
        refuse(context, "its indices go beyond 2^24 and what float32 holds exactly");
    integers[0] = attributes.integer("storage_order", 0) == 0 ? 4 : 5;
    Reference places = cpu_node(context, {CpuOpType::pool, integers, {}}, {input}, shape);
    places.integer = true;
    finish_cpu(context, places, 1);
}

} // namespace overtake::compiler
