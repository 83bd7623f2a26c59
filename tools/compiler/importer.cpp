// SPDX-License-Identifier: MIT
//
// What every operator's import works with: names, constants, values, nodes.
#include "importer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "error.hpp"

namespace overtake::compiler {

std::string to_text(const Shape& shape) {
    return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, "x"));
}

std::size_t element_count(const Shape& shape) {
    std::size_t count = 1;
    for (std::int64_t size : shape)
        count *= static_cast<std::size_t>(size);
    return count;
}

void Importer::refuse(const std::string& reason) const {
    throw CompileError(path_, "node '" + node_name() + "' (" + node_->op_type() + "): " + reason);
}

std::string Importer::node_name() const {
    if (!node_->name().empty())
        return node_->name();
    return node_->output_size() > 0 ? node_->output(0) : "";
}

bool Importer::has_input(int index) const {
    return index < node_->input_size() && !node_->input(index).empty();
}

const std::string& Importer::input_name(int index) const {
    if (!has_input(index))
        refuse("input " + std::to_string(index) + " is missing");
    return node_->input(index);
}

bool Importer::is_constant(int index) const {
    return has_input(index) && constants_.contains(node_->input(index));
}

const Constant& Importer::constant_input(int index) const {
    const auto found = constants_.find(input_name(index));
    if (found == constants_.end())
        refuse("input '" + input_name(index) + "' must be a constant");
    return found->second;
}

const std::vector<float>& Importer::float_input(int index) const {
    const Constant& constant = constant_input(index);
    if (constant.floats.size() != element_count(constant.shape))
        refuse("input '" + input_name(index) + "' must be a float32 constant");
    return constant.floats;
}

const Reference& Importer::variable_input(int index) const {
    const auto found = references_.find(input_name(index));
    if (found == references_.end())
        refuse("input '" + input_name(index) + "' is a constant; fold constants before export");
    return found->second;
}

Shape Importer::output_shape() const {
    const auto found = shapes_.find(node_->output(0));
    if (found == shapes_.end())
        refuse("the shape of its output is not known before run time; export static shapes");
    return found->second;
}

// Makes a value of ONNX shape (1, C, H, W) or (1, C).
ValueId Importer::add_value(const std::string& name, const Shape& shape) {
    const std::string place = "tensor '" + name + "' of shape " + to_text(shape);
    if (shape.size() != 2 && shape.size() != 4)
        throw CompileError(path_, place + " is neither (1, C, H, W) nor (1, features)");
    if (shape[0] != 1)
        throw CompileError(path_, place + " has a batch; export the model with batch 1");
    for (std::int64_t size : shape)
        if (size < 1 || size > max_dimension)
            throw CompileError(path_, place + " has a dimension outside 1.." +
                                          std::to_string(max_dimension));
    Value value{name, shape};
    value.channels = static_cast<std::uint32_t>(shape[1]);
    value.height = shape.size() == 4 ? static_cast<std::uint32_t>(shape[2]) : 1;
    value.width = shape.size() == 4 ? static_cast<std::uint32_t>(shape[3]) : 1;
    if (std::uint64_t{value.height} * value.width * (value.channels + 7ull) >= 1ull << 31)
        throw CompileError(path_, place + " is larger than 2 GiB");
    graph_.values.push_back(std::move(value));
    return graph_.values.size() - 1;
}

Node Importer::new_node(Operator op) const {
    Node node;
    node.name = node_name();
    node.onnx_type = node_->op_type();
    node.op = op;
    return node;
}

void Importer::finish(Node node, ValueId output) {
    node.output = output;
    apply_given_weights(node);
    references_[node_->output(0)] = {output, graph_.values[output].shape};
    graph_.nodes.push_back(std::move(node));
}

// Scales of a constant are those of the node's outputs if there are as many; whether the weights
// are multiples of them, quantisation sees.
void Importer::apply_given_weights(Node& node) const {
    if (node_->input_size() < 2 || node.weights.empty())
        return;
    const auto found = given_.weights.find(node_->input(1));
    if (found == given_.weights.end())
        return;
    if (found->second.size() == node.bias.size())
        node.weight_scales = found->second;
    else if (found->second.size() == 1)
        node.weight_scales.assign(node.bias.size(), found->second[0]);
}

void Importer::apply_given_tensors() {
    for (Value& value : graph_.values)
        if (const auto found = given_.tensors.find(value.name); found != given_.tensors.end())
            value.given = found->second;
}

// For operators whose output has the shape of `input`, flattened or not.
void Importer::finish_like(const Reference& input, Node node) {
    const Shape shape = input.shape;
    node.inputs.insert(node.inputs.begin(), input.value);
    Value value = value_of(input);
    value.name = node_->output(0);
    value.shape = shape;
    graph_.values.push_back(std::move(value));
    finish(std::move(node), graph_.values.size() - 1);
}

} // namespace overtake::compiler
