// SPDX-License-Identifier: MIT
#include "compiler/import/bpu/parts.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compiler/import/attributes.hpp"
#include "compiler/import/context.hpp"
#include "compiler/import/nodes.hpp"
#include "compiler/ir/layout.hpp"

namespace overtake::compiler {

DevicePlace device_place(const Context& context, const Value& value, std::size_t axis) {
    constexpr std::size_t numbers[3] = {axis_height, axis_width, axis_channels};
    const auto dimensions = axes_of_dimensions(value);
    for (std::size_t k = 0; k < 3; ++k) {
        DevicePlace place{numbers[k], 1};
        bool is_here = false, is_first = true;
        for (std::size_t part : dimensions[k]) {
            if (is_here)
                place.factor *= static_cast<std::uint32_t>(value.shape[part]);
            else if (part != axis && value.shape[part] != 1)
                is_first = false;
            is_here = is_here || part == axis;
        }
        if (is_here && is_first)
            return place;
    }
    refuse(context,
           "its axis is none of the device's for a tensor of shape " + to_text(value.shape));
}

void add_slice(Context& context, ValueId input, const std::array<Stretch, 3>& stretches,
               const std::string& name, const Shape& shape) {
    Node node = new_node(context, op::Slice{stretches});
    node.inputs = {input};
    node.output = add_value(context, name, shape, context.graph.values[input].order);
    context.references[name] = {node.output, shape};
    add_node(context, std::move(node));
}

Reference joined(Context& context, const std::vector<Reference>& parts, std::size_t axis,
                 const std::string& name) {
    Node node = new_node(context, op::Concat{});
    std::vector<Shape> shapes;
    for (const Reference& part : parts) {
        node.inputs.push_back(part.value);
        shapes.push_back(part.shape);
    }
    const Shape shape = joined_shape(context, shapes, axis);
    node.output = add_value(context, name, shape, value_of(context, parts[0]).order);
    const std::size_t device_axis =
        device_place(context, context.graph.values[node.output], axis).axis;
    node.operation = op::Concat{device_axis};
    for (ValueId input : node.inputs)
        if (device_place(context, context.graph.values[input], axis).axis != device_axis)
            refuse(context, "its inputs lie differently on the device");
    add_node(context, std::move(node));
    return {context.graph.nodes.back().output, shape};
}

Reference stretch_of(Context& context, const Reference& input, std::size_t axis, std::int64_t first,
                     std::int64_t count, const std::string& name) {
    std::array<Stretch, 3> stretches;
    const auto [place, factor] = device_place(context, value_of(context, input), axis);
    stretches[place].first = static_cast<std::uint32_t>(first) * factor;
    Shape shape = input.shape;
    shape[axis] = count;
    add_slice(context, input.value, stretches, name, shape);
    return context.references.at(name);
}

} // namespace overtake::compiler
