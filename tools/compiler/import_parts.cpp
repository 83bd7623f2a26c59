// SPDX-License-Identifier: MIT
//
// Parts of tensors: Concat, Slice, Split.
#include "importer.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace overtake::compiler {

// An ONNX axis as one of a value's.  Flattened features have channels only, if anything.
std::size_t Importer::device_axis(const Reference& reference, std::int64_t axis) const {
    const auto rank = static_cast<std::int64_t>(reference.shape.size());
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis >= rank)
        refuse("its axis lies outside the tensor");
    if (axis == 0)
        refuse("over the batch is not supported");
    if (rank == 2 && reference.shape[1] != value_of(reference).channels)
        refuse("over flattened features is not supported");
    return static_cast<std::size_t>(axis - 1);
}

void Importer::concat() {
    const Reference first = variable_input(0);
    if (node_->input_size() == 1) {
        references_[node_->output(0)] = first;
        return;
    }
    Node node = new_node(Operator::concat);
    const std::int64_t axis = Attributes(*node_).integer("axis", 0);
    for (int index = 0; index < node_->input_size(); ++index) {
        const Reference input = variable_input(index);
        node.device_axis = device_axis(input, axis);
        node.inputs.push_back(input.value);
    }
    finish(std::move(node), add_value(node_->output(0), output_shape()));
}

void Importer::add_slice(const Reference& input, const std::array<Stretch, 3>& stretches,
                         const std::string& name, const Shape& shape) {
    Node node = new_node(Operator::slice);
    node.inputs = {input.value};
    node.stretches = stretches;
    node.output = add_value(name, shape);
    references_[name] = {node.output, shape};
    graph_.nodes.push_back(std::move(node));
}

void Importer::slice() {
    const Reference input = variable_input(0);
    const auto &starts = constant_input(1).integers, &ends = constant_input(2).integers;
    std::vector<std::int64_t> axes(starts.size()), steps(starts.size(), 1);
    std::iota(axes.begin(), axes.end(), 0);
    if (has_input(3))
        axes = constant_input(3).integers;
    if (has_input(4))
        steps = constant_input(4).integers;
    if (ends.size() != starts.size() || axes.size() != starts.size() ||
        steps.size() != starts.size())
        refuse("starts, ends, axes and steps must be int64 constants of one length");
    std::array<Stretch, 3> stretches;
    Shape shape = input.shape;
    for (std::size_t index = 0; index < starts.size(); ++index) {
        const std::size_t axis = device_axis(input, axes[index]);
        const std::int64_t size = input.shape[axis + 1];
        const auto clamp = [&](std::int64_t position) {
            return std::clamp<std::int64_t>(position < 0 ? position + size : position, 0, size);
        };
        const std::int64_t first = clamp(starts[index]), last = clamp(ends[index]);
        if (steps[index] < 1 || steps[index] > max_window ||
            (axis == axis_channels && steps[index] != 1))
            refuse("steps must be positive, and 1 along channels");
        if (first >= last)
            refuse("gives an empty tensor");
        shape[axis + 1] = (last - first + steps[index] - 1) / steps[index];
        stretches[axis].first = static_cast<std::uint32_t>(first);
        if (shape[axis + 1] > 1)
            stretches[axis].step = static_cast<std::uint32_t>(steps[index]);
    }
    add_slice(input, stretches, node_->output(0), shape);
}

void Importer::split() {
    const Reference input = variable_input(0);
    const std::int64_t onnx_axis = Attributes(*node_).integer("axis", 0);
    const std::size_t axis = device_axis(input, onnx_axis);
    const std::int64_t size = input.shape[axis + 1];
    const int outputs = node_->output_size();
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(outputs), size / outputs);
    if (has_input(1))
        sizes = constant_input(1).integers;
    if (sizes.size() != static_cast<std::size_t>(outputs) ||
        std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) != size)
        refuse("its parts do not add up to " + std::to_string(size));
    std::int64_t first = 0;
    for (int index = 0; index < outputs; ++index) {
        const std::int64_t count = sizes[static_cast<std::size_t>(index)];
        if (count < 1)
            refuse("gives an empty tensor");
        std::array<Stretch, 3> stretches;
        stretches[axis].first = static_cast<std::uint32_t>(first);
        Shape shape = input.shape;
        shape[axis + 1] = count;
        if (!node_->output(index).empty())
            add_slice(input, stretches, node_->output(index), shape);
        first += count;
    }
}

} // namespace overtake::compiler
