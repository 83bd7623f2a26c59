// SPDX-License-Identifier: MIT
//
// Split on the device.
#include "compiler/import/bpu/operators.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/import/attributes.hpp"
#include "compiler/import/bpu/order.hpp"
#include "compiler/import/bpu/parts.hpp"
#include "compiler/import/context.hpp"

namespace overtake::compiler {

void bpu_split(Context& context) {
    const Reference input = variable_input(context, 0);
    const std::size_t onnx_axis =
        axis_of(context, Attributes(*context.node).integer("axis", 0), input.shape.size());
    const ValueId source = in_order(context, input, value_of(context, input).order);
    const auto [axis, factor] = device_place(context, context.graph.values[source], onnx_axis);
    const std::vector<std::int64_t> sizes = split_sizes(context, input.shape[onnx_axis]);
    std::int64_t first = 0;
    for (int index = 0; index < context.node->output_size(); ++index) {
        const std::int64_t count = sizes[static_cast<std::size_t>(index)];
        std::array<Stretch, 3> stretches;
        stretches[axis].first = static_cast<std::uint32_t>(first) * factor;
        Shape shape = input.shape;
        shape[onnx_axis] = count;
        if (!context.node->output(index).empty())
            add_slice(context, source, stretches, context.node->output(index), shape);
        first += count;
    }
}

} // namespace overtake::compiler
