// SPDX-License-Identifier: MIT
//
// Parts of tensors on the device: Concat, Slice, Split.
#include "compiler/import/importer.hpp"

#include "compiler/ir/layout.hpp"

namespace overtake::compiler {

// Where an axis of ONNX lies in a value.  Where several make one dimension, those in front of it
// must have one element.
Importer::DevicePlace Importer::device_place(const Value& value, std::size_t axis) const {
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
    refuse("its axis is none of the device's for a tensor of shape " + to_text(value.shape));
}

void Importer::concat() {
    if (node_->input_size() == 1) {
        references_[node_->output(0)] = variable_input(0);
        return;
    }
    int computed = 0; // says how all of them lie
    while (computed + 1 < node_->input_size() && is_constant(computed))
        ++computed;
    const Reference first = variable_input(computed);
    const std::size_t axis = axis_of(Attributes(*node_).integer("axis", 0), first.shape.size());
    const Order order = value_of(first).order;
    std::vector<Reference> parts;
    for (int index = 0; index < node_->input_size(); ++index) {
        const Operand part = operand(index);
        const Shape& shape = part.constant ? part.constant->shape : part.reference.shape;
        if (shape.size() != first.shape.size())
            refuse("its inputs differ in rank");
        parts.push_back({part.constant ? device_constant(*part.constant, shape, order)
                                       : in_order(part.reference, order),
                         shape});
    }
    references_[node_->output(0)] = joined(parts, axis, node_->output(0));
}

void Importer::add_slice(ValueId input, const std::array<Stretch, 3>& stretches,
                         const std::string& name, const Shape& shape) {
    Node node = new_node(Operator::slice);
    node.inputs = {input};
    node.stretches = stretches;
    node.output = add_value(name, shape, graph_.values[input].order);
    references_[name] = {node.output, shape};
    graph_.nodes.push_back(std::move(node));
}

void Importer::slice() {
    const Reference input = variable_input(0);
    const ValueId source = in_order(input, value_of(input).order);
    std::array<Stretch, 3> stretches;
    Shape shape = input.shape;
    for (const SlicedAxis& sliced : sliced_axes(input.shape)) {
        shape[sliced.axis] = sliced.count;
        if (sliced.first == 0 && sliced.step == 1 && sliced.count == input.shape[sliced.axis])
            continue;
        const auto [axis, factor] = device_place(graph_.values[source], sliced.axis);
        if (sliced.step < 1 || sliced.step > max_window ||
            (axis == axis_channels && sliced.step != 1))
            refuse("steps must be positive, and 1 along channels");
        if (factor != 1 && sliced.step != 1)
            refuse("steps through what is one dimension with others on the device");
        stretches[axis].first = static_cast<std::uint32_t>(sliced.first) * factor;
        if (sliced.count > 1)
            stretches[axis].step = static_cast<std::uint32_t>(sliced.step);
    }
    add_slice(source, stretches, node_->output(0), shape);
}

void Importer::split() {
    const Reference input = variable_input(0);
    const std::size_t onnx_axis =
        axis_of(Attributes(*node_).integer("axis", 0), input.shape.size());
    const ValueId source = in_order(input, value_of(input).order);
    const auto [axis, factor] = device_place(graph_.values[source], onnx_axis);
    const std::vector<std::int64_t> sizes = split_sizes(input.shape[onnx_axis]);
    std::int64_t first = 0;
    for (int index = 0; index < node_->output_size(); ++index) {
        const std::int64_t count = sizes[static_cast<std::size_t>(index)];
        std::array<Stretch, 3> stretches;
        stretches[axis].first = static_cast<std::uint32_t>(first) * factor;
        Shape shape = input.shape;
        shape[onnx_axis] = count;
        if (!node_->output(index).empty())
            add_slice(source, stretches, node_->output(index), shape);
        first += count;
    }
}

} // namespace overtake::compiler
