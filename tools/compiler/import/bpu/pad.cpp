// SPDX-License-Identifier: MIT
//
// Pad on the device.
#include "compiler/import/bpu/operators.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compiler/import/attributes.hpp"
#include "compiler/import/bpu/order.hpp"
#include "compiler/import/bpu/parts.hpp"
#include "compiler/import/context.hpp"
#include "compiler/import/nodes.hpp"
#include "compiler/ir/limits.hpp"

namespace overtake::compiler {

namespace {

op::Pad padding_on_device(const Context& context) {
    op::Pad padding;
    const std::string mode = Attributes(*context.node).text("mode", "constant");
    if (mode == "edge")
        padding.mode = op::Pad::Mode::edge;
    else if (mode == "reflect")
        padding.mode = op::Pad::Mode::reflect;
    else if (mode != "constant")
        refuse(context, "mode '" + mode + "' is not supported");
    padding.fill = padding.mode == op::Pad::Mode::constant ? fill_of(context) : 0.0f;
    if (!std::isfinite(padding.fill))
        refuse(context, "what it pads with has no form in 8 bits");
    return padding;
}

} // namespace

// Imports a Pad.  A slice cuts off the elements of negative pads, on which no other element
// depends.  Then the rest is padded.
void bpu_pad(Context& context) {
    const Reference input = variable_input(context, 0);
    const std::size_t rank = input.shape.size();
    const std::vector<std::int64_t> pads = pads_of(context, rank);
    op::Pad padding = padding_on_device(context);
    ValueId source = in_order(context, input, value_of(context, input).order);
    Shape cut = input.shape, shape = input.shape;
    std::array<Stretch, 3> kept;
    std::array<bool, 3> is_padded{};
    for (std::size_t axis = 0; axis < rank; ++axis) {
        const std::int64_t front = pads[axis], behind = pads[axis + rank];
        if (front == 0 && behind == 0)
            continue;
        const auto [place, factor] = device_place(context, context.graph.values[source], axis);
        if (std::exchange(is_padded[place], true))
            refuse(context, "pads two axes that are one dimension on the device");
        cut[axis] += std::min<std::int64_t>(front, 0) + std::min<std::int64_t>(behind, 0);
        shape[axis] += front + behind;
        if (cut[axis] < 1)
            refuse(context, "cuts off more than there is");
        if (std::max(front, behind) * factor > max_window)
            refuse(context, "pads of more than 65535 elements are not supported");
        const bool repeats = padding.mode != op::Pad::Mode::constant;
        if (repeats && (place == axis_channels || factor != 1 || std::min(front, behind) < 0))
            refuse(context, "repeats elements along channels, or of what it cuts off");
        if (padding.mode == op::Pad::Mode::reflect && std::max(front, behind) >= cut[axis])
            refuse(context, "reflects more than there is");
        kept[place].first = static_cast<std::uint32_t>(std::max<std::int64_t>(-front, 0)) * factor;
        padding.front[place] =
            static_cast<std::uint32_t>(std::max<std::int64_t>(front, 0)) * factor;
    }
    if (cut == shape) // nothing is added
        return add_slice(context, source, kept, context.node->output(0), shape);
    if (cut != input.shape) {
        const std::string name = context.node->output(0) + ":cut";
        add_slice(context, source, kept, name, cut);
        source = context.references.at(name).value;
    }
    Node node = new_node(context, padding);
    node.inputs = {source};
    finish(context, std::move(node),
           add_value(context, context.node->output(0), shape, context.graph.values[source].order));
}

} // namespace overtake::compiler
