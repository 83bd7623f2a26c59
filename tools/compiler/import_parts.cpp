// SPDX-License-Identifier: MIT
//
// Parts of tensors on the device: Concat, Slice, Split.
#include "importer.hpp"

#include "layout.hpp"

namespace overtake::compiler {

// An ONNX axis as one of a value's (axis_channels, ...).
std::size_t Importer::device_axis(const Value& value, std::size_t axis) const {
    constexpr std::size_t numbers[3] = {axis_height, axis_width, axis_channels};
    if (const auto axes = device_axes(value))
        for (std::size_t k = 0; k < 3; ++k)
            if ((*axes)[k] == static_cast<int>(axis))
                return numbers[k];
    refuse("its axis is none of the device's for a tensor of shape " + to_text(value.shape));
}

void Importer::concat() {
    const Reference first = variable_input(0);
    if (node_->input_size() == 1) {
        references_[node_->output(0)] = first;
        return;
    }
    const std::size_t axis = axis_of(Attributes(*node_).integer("axis", 0), first.shape.size());
    const Order order = value_of(first).order;
    Node node = new_node(Operator::concat);
    Shape shape = first.shape;
    shape[axis] = 0;
    for (int index = 0; index < node_->input_size(); ++index) {
        const Reference input = variable_input(index);
        if (input.shape.size() != shape.size())
            refuse("its inputs differ in rank");
        node.inputs.push_back(in_order(input, order));
        shape[axis] += input.shape[axis];
    }
    const ValueId output = add_value(node_->output(0), shape, order);
    node.device_axis = device_axis(graph_.values[output], axis);
    for (ValueId input : node.inputs)
        if (device_axis(graph_.values[input], axis) != node.device_axis)
            refuse("its inputs lie differently on the device");
    finish(std::move(node), output);
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
        const std::size_t axis = device_axis(graph_.values[source], sliced.axis);
        if (sliced.step < 1 || sliced.step > max_window ||
            (axis == axis_channels && sliced.step != 1))
            refuse("steps must be positive, and 1 along channels");
        stretches[axis].first = static_cast<std::uint32_t>(sliced.first);
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
    const std::size_t axis = device_axis(graph_.values[source], onnx_axis);
    const std::vector<std::int64_t> sizes = split_sizes(input.shape[onnx_axis]);
    std::int64_t first = 0;
    for (int index = 0; index < node_->output_size(); ++index) {
        const std::int64_t count = sizes[static_cast<std::size_t>(index)];
        std::array<Stretch, 3> stretches;
        stretches[axis].first = static_cast<std::uint32_t>(first);
        Shape shape = input.shape;
        shape[onnx_axis] = count;
        if (!node_->output(index).empty())
            add_slice(source, stretches, node_->output(index), shape);
        first += count;
    }
}

} // namespace overtake::compiler
