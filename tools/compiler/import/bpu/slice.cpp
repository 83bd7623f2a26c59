// SPDX-License-Identifier: MIT
//
// Slice on the device.
#include "compiler/import/bpu/operators.hpp"

#include <array>
#include <cstdint>

#include "compiler/import/attributes.hpp"
#include "compiler/import/bpu/order.hpp"
#include "compiler/import/bpu/parts.hpp"
#include "compiler/import/context.hpp"
#include "compiler/ir/limits.hpp"

namespace overtake::compiler {

void bpu_slice(Context& context) {
    const Reference input = variable_input(context, 0);
    const ValueId source = in_order(context, input, value_of(context, input).order);
    std::array<Stretch, 3> stretches;
    Shape shape = input.shape;
    for (const SlicedAxis& sliced : sliced_axes(context, input.shape)) {
        shape[sliced.axis] = sliced.count;
        if (sliced.first == 0 && sliced.step == 1 && sliced.count == input.shape[sliced.axis])
            continue;
        const auto [axis, factor] =
            device_place(context, context.graph.values[source], sliced.axis);
        if (sliced.step < 1 || sliced.step > max_window ||
            (axis == axis_channels && sliced.step != 1))
            refuse(context, "steps must be positive, and 1 along channels");
        if (factor != 1 && sliced.step != 1)
            refuse(context, "steps through what is one dimension with others on the device");
        stretches[axis].first = static_cast<std::uint32_t>(sliced.first) * factor;
        if (sliced.count > 1)
            stretches[axis].step = static_cast<std::uint32_t>(sliced.step);
    }
    add_slice(context, source, stretches, context.node->output(0), shape);
}

} // namespace overtake::compiler
