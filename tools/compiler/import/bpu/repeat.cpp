// SPDX-License-Identifier: MIT
//
// Gather with known positions, Expand and Tile on the device.
#include "compiler/import/importer.hpp"

#include <algorithm>

#include "compiler/ir/layout.hpp"

namespace overtake::compiler {
namespace {

// More copies than these are left to the CPU.
constexpr std::size_t most_pieces = 64;

// Positions first, first + 1, ...
struct Run {
    std::int64_t first;
    std::int64_t count;
};

std::vector<Run> runs_of(const std::vector<std::int64_t>& positions) {
    std::vector<Run> runs;
    for (std::int64_t position : positions)
        if (!runs.empty() && runs.back().first + runs.back().count == position)
            ++runs.back().count;
        else
            runs.push_back({position, 1});
    return runs;
}

} // namespace

// A part of one axis, as a value of its own.
Reference Importer::stretch_of(const Reference& input, std::size_t axis, std::int64_t first,
                               std::int64_t count, const std::string& name) {
    std::array<Stretch, 3> stretches;
    const auto [place, factor] = device_place(value_of(input), axis);
    stretches[place].first = static_cast<std::uint32_t>(first) * factor;
    Shape shape = input.shape;
    shape[axis] = count;
    add_slice(input.value, stretches, name, shape);
    return references_.at(name);
}

// One behind the other along an axis; all lie in the same order.
Reference Importer::joined(const std::vector<Reference>& parts, std::size_t axis,
                           const std::string& name) {
    Node node = new_node(Operator::concat);
    Shape shape = parts[0].shape;
    shape[axis] = 0;
    for (const Reference& part : parts) {
        node.inputs.push_back(part.value);
        shape[axis] += part.shape[axis];
    }
    node.output = add_value(name, shape, value_of(parts[0]).order);
    node.device_axis = device_place(graph_.values[node.output], axis).axis;
    for (ValueId input : node.inputs)
        if (device_place(graph_.values[input], axis).axis != node.device_axis)
            refuse("its inputs lie differently on the device");
    graph_.nodes.push_back(std::move(node));
    return {graph_.nodes.back().output, shape};
}

// Runs of neighbours are slices.
void Importer::gather() {
    Reference input = variable_input(0);
    const Constant& indices = constant_input(1);
    const std::size_t axis = axis_of(Attributes(*node_).integer("axis", 0), input.shape.size());
    const std::int64_t size = input.shape[axis];
    std::vector<std::int64_t> positions = integers_of(indices);
    for (std::int64_t& position : positions) {
        position += position < 0 ? size : 0;
        if (position < 0 || position >= size)
            refuse("position " + std::to_string(position) + " lies outside the tensor");
    }
    const std::vector<Run> runs = runs_of(positions);
    if (runs.empty() || runs.size() > most_pieces)
        refuse("gathers from more than " + std::to_string(most_pieces) + " places");
    input.value = in_order(input, value_of(input).order);
    const std::string& name = node_->output(0);
    std::vector<Reference> parts;
    for (const Run& run : runs)
        parts.push_back(
            stretch_of(input, axis, run.first, run.count,
                       runs.size() == 1 ? name : name + ":" + std::to_string(parts.size())));
    Reference result = parts.size() == 1 ? parts[0] : joined(parts, axis, name);
    result.shape.erase(result.shape.begin() + static_cast<std::ptrdiff_t>(axis));
    result.shape.insert(result.shape.begin() + static_cast<std::ptrdiff_t>(axis),
                        indices.shape.begin(), indices.shape.end());
    references_[name] = result;
}

// What has one element along an axis of the device shows it everywhere.
void Importer::expand() {
    Reference input = variable_input(0);
    const Shape shape = expanded_shape(input.shape);
    while (input.shape.size() < shape.size())
        input.shape.insert(input.shape.begin(), 1);
    if (input.shape == shape) {
        references_[node_->output(0)] = input;
        return;
    }
    const Order order = value_of(input).order;
    Node node = new_node(Operator::broadcast);
    node.inputs = {in_order(input, order)};
    const ValueId output = add_value(node_->output(0), shape, order);
    check_broadcast(node.inputs[0], output);
    finish(std::move(node), output);
}

void Importer::tile() {
    Reference input = variable_input(0);
    const std::vector<std::int64_t> repeats = integers_of(constant_input(1));
    if (repeats.size() != input.shape.size())
        refuse("its repeats do not fit the input");
    input.value = in_order(input, value_of(input).order);
    for (std::size_t axis = 0; axis < repeats.size(); ++axis) {
        if (repeats[axis] < 1)
            refuse("gives an empty tensor");
        if (repeats[axis] > static_cast<std::int64_t>(most_pieces))
            refuse("repeats its input more than " + std::to_string(most_pieces) + " times");
        if (repeats[axis] > 1)
            input = joined(std::vector<Reference>(static_cast<std::size_t>(repeats[axis]), input),
                           axis, node_->output(0));
    }
    references_[node_->output(0)] = input;
}

} // namespace overtake::compiler
