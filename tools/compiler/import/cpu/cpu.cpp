// SPDX-License-Identifier: MIT
//
// What every operator's import for the CPU works with.
#include "compiler/import/importer.hpp"

#include <algorithm>
#include <numeric>

#include "compiler/ir/error.hpp"

namespace overtake::compiler {

Reference Importer::cpu_constant(const Shape& shape, std::vector<float> elements) {
    Value value{node_name() + ":constant" + std::to_string(parts_++), shape};
    check_size(value.name, shape);
    value.constant = std::move(elements);
    graph_.values.push_back(std::move(value));
    return {graph_.values.size() - 1, shape};
}

// A computed input or a constant.
Reference Importer::cpu_input(int index) {
    if (!is_constant(index)) {
        const auto found = references_.find(input_name(index));
        if (found == references_.end())
            refuse("input '" + input_name(index) + "' is not known");
        return found->second;
    }
    const Constant& constant = constant_input(index);
    for (std::int64_t integer : constant.integers)
        if (integer > max_exact_integer || integer < -max_exact_integer)
            refuse("input '" + input_name(index) + "' holds the integer " +
                   std::to_string(integer) +
                   ", which lies beyond 2^24 and what float32 holds exactly");
    if (constant.floats.empty() && constant.integers.empty())
        refuse("input '" + input_name(index) + "' is empty");
    Reference reference = cpu_constant(constant.shape, reals_of(constant));
    reference.integer = !constant.integers.empty();
    return reference;
}

// The value itself, or a copy where the reference has another shape.
ValueId Importer::with_own_shape(const Reference& reference) {
    const Value value = value_of(reference);
    if (value.shape == reference.shape)
        return reference.value;
    if (value.is_constant())
        return cpu_constant(reference.shape, value.constant).value;
    const auto key = std::pair(reference.value, reference.shape);
    if (const auto known = copied_.find(key); known != copied_.end())
        return known->second;
    Node node = new_node(Operator::cpu);
    node.name += ":shape" + std::to_string(parts_++);
    node.onnx_type = "Reshape";
    node.inputs = {reference.value};
    node.output = add_host_value(node.name, reference.shape);
    graph_.nodes.push_back(std::move(node));
    return copied_[key] = graph_.nodes.back().output;
}

Reference Importer::cpu_node(const CpuForm& form, const std::vector<Reference>& inputs,
                             const Shape& shape) {
    Node node = new_node(Operator::cpu);
    std::vector<ValueId> values;
    for (const Reference& input : inputs)
        values.push_back(with_own_shape(input));
    node.cpu = form;
    node.inputs = std::move(values);
    node.output = add_host_value(node_name() + ":" + std::to_string(parts_++), shape);
    const std::string reason = cpu::check(cpu_operation(graph_, node));
    if (!reason.empty())
        refuse(reason);
    graph_.nodes.push_back(std::move(node));
    return {graph_.nodes.back().output, shape};
}

void Importer::finish_cpu(const Reference& result, int output) {
    const std::string& name = node_->output(output);
    Value& value = graph_.values[result.value];
    const bool is_new = value.name.starts_with(node_name() + ":");
    if (is_new && value.shape == result.shape && !value.is_constant())
        value.name = name;
    references_[name] = result;
}

Shape Importer::broadcast_shape(const Shape& left, const Shape& right) const {
    Shape result(std::max(left.size(), right.size()), 1);
    for (std::size_t i = 0; i < result.size(); ++i) {
        const std::int64_t a = i < left.size() ? left[left.size() - 1 - i] : 1;
        const std::int64_t b = i < right.size() ? right[right.size() - 1 - i] : 1;
        if (a != b && a != 1 && b != 1)
            refuse("operands of shapes " + to_text(left) + " and " + to_text(right) +
                   " do not fit each other");
        result[result.size() - 1 - i] = std::max(a, b);
    }
    return result;
}

// Numbers that a file may make as great as it likes, before anything is computed of them.
void Importer::check_between(const std::vector<std::int64_t>& numbers, std::int64_t low,
                             std::int64_t high, const char* attribute) const {
    for (const std::int64_t number : numbers)
        if (number < low || number > high)
            refuse(std::string(attribute) + " holds " + std::to_string(number) +
                   ", which does not lie in " + std::to_string(low) + ".." + std::to_string(high));
}

std::size_t Importer::axis_of(std::int64_t axis, std::size_t rank) const {
    const auto count = static_cast<std::int64_t>(rank);
    axis += axis < 0 ? count : 0;
    if (axis < 0 || axis >= count)
        refuse("its axis lies outside the tensor");
    return static_cast<std::size_t>(axis);
}

// The parts of each axis that a Slice takes, by axis.
std::vector<SlicedAxis> Importer::sliced_axes(const Shape& shape) const {
    const auto starts = integers_of(constant_input(1)), ends = integers_of(constant_input(2));
    std::vector<std::int64_t> axes(starts.size()), steps(starts.size(), 1);
    std::iota(axes.begin(), axes.end(), 0);
    if (has_input(3))
        axes = integers_of(constant_input(3));
    if (has_input(4))
        steps = integers_of(constant_input(4));
    if (ends.size() != starts.size() || axes.size() != starts.size() ||
        steps.size() != starts.size())
        refuse("starts, ends, axes and steps must be constants of one length");
    std::vector<SlicedAxis> result;
    for (std::size_t index = 0; index < starts.size(); ++index) {
        const std::size_t axis = axis_of(axes[index], shape.size());
        if (std::ranges::any_of(result, [&](const SlicedAxis& one) { return one.axis == axis; }))
            refuse("names an axis twice");
        const std::int64_t size = shape[axis], step = steps[index];
        if (step == 0 || step < -max_dimension || step > max_dimension)
            refuse("its steps are zero or out of range");
        // Backwards a slice may end in front of the first element.
        const std::int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
        const auto clamp = [&](std::int64_t position) {
            return std::clamp(position < 0 ? position + size : position, low, high);
        };
        const std::int64_t first = clamp(starts[index]), last = clamp(ends[index]);
        const std::int64_t way = step > 0 ? last - first : first - last;
        const std::int64_t stride = step > 0 ? step : -step;
        if (way <= 0)
            refuse("gives an empty tensor");
        result.push_back({axis, first, step, (way + stride - 1) / stride});
    }
    return result;
}

std::vector<std::int64_t> Importer::split_sizes(std::int64_t size) const {
    const int outputs = node_->output_size();
    const std::int64_t each = (size + outputs - 1) / outputs;
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(outputs), each);
    sizes.back() = size - each * (outputs - 1);
    sizes = Attributes(*node_).integers("split", sizes);
    if (has_input(1))
        sizes = integers_of(constant_input(1));
    if (std::ranges::any_of(sizes, [](std::int64_t count) { return count < 1; }))
        refuse("gives an empty tensor");
    if (sizes.size() != static_cast<std::size_t>(outputs) ||
        std::ranges::any_of(sizes, [&](std::int64_t count) { return count > size; }) ||
        std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) != size)
        refuse("its parts do not add up to " + std::to_string(size));
    return sizes;
}

} // namespace overtake::compiler
