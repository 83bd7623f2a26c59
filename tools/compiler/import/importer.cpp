// SPDX-License-Identifier: MIT
//
// What every operator's import works with: names, constants, values, nodes.
#include "compiler/import/importer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/ir/error.hpp"
#include "compiler/ir/layout.hpp"

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

std::vector<float> reals_of(const Constant& constant) {
    if (!constant.integers.empty())
        return {constant.integers.begin(), constant.integers.end()};
    return constant.floats;
}

// What lies outside is the nearest that 64 bits hold of it, and what is no number 0.
std::vector<std::int64_t> integers_of(const Constant& constant) {
    if (!constant.integers.empty())
        return constant.integers;
    constexpr float beyond = 9223372036854775808.0f; // 2^63
    std::vector<std::int64_t> integers;
    for (const float real : constant.floats)
        if (real >= beyond || real < -beyond)
            integers.push_back(real > 0 ? std::numeric_limits<std::int64_t>::max()
                                        : std::numeric_limits<std::int64_t>::min());
        else
            integers.push_back(std::isnan(real) ? 0 : static_cast<std::int64_t>(real));
    return integers;
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

Shape Importer::output_shape() {
    if (!shapes_.contains(node_->output(0)))
        infer_shape();
    const auto found = shapes_.find(node_->output(0));
    if (found == shapes_.end())
        refuse("the shape of its output is not known before run time; export static shapes");
    check_size(node_->output(0), found->second);
    return found->second;
}

// With the constants and shapes that import has found meanwhile, libonnx may know more.
void Importer::infer_shape() {
    onnx::ModelProto model;
    model.set_ir_version(8);
    for (const auto& import : model_.opset_import())
        *model.add_opset_import() = import;
    auto& graph = *model.mutable_graph();
    graph.set_name("node");
    *graph.add_node() = *node_;
    std::set<std::string> known;
    for (int index = 0; index < node_->input_size(); ++index) {
        const std::string& name = node_->input(index);
        if (name.empty() || !known.insert(name).second)
            continue;
        if (is_constant(index)) {
            write_constant(constant_input(index), name, *graph.add_initializer());
        } else if (const auto found = references_.find(name); found != references_.end()) {
            auto& input = *graph.add_input();
            input.set_name(name);
            auto& type = *input.mutable_type()->mutable_tensor_type();
            type.set_elem_type(types_.contains(name) ? types_.at(name)
                                                     : int{onnx::TensorProto::FLOAT});
            type.mutable_shape();
            for (std::int64_t size : found->second.shape)
                type.mutable_shape()->add_dim()->set_dim_value(size);
        }
    }
    for (const std::string& name : node_->output())
        graph.add_output()->set_name(name);
    try {
        libonnx_.infer_shapes(model);
    } catch (const CompileError&) {
        return; // whoever wanted the shape says so
    }
    for (const auto& output : model.graph().output())
        if (const auto shape = static_shape(output))
            shapes_[output.name()] = *shape;
}

// What the runtime would refuse, and what there is no memory for.
void Importer::check_size(const std::string& name, const Shape& shape) const {
    const auto fail = [&](const std::string& what) {
        const std::string reason = "tensor '" + name + "' of shape " + to_text(shape) + what;
        if (node_)
            refuse(reason);
        throw CompileError(path_, reason);
    };
    if (shape.size() > 8)
        fail(" has more than 8 dimensions");
    std::uint64_t elements = 1;
    for (std::int64_t size : shape)
        if (size < 1 || size > max_elements ||
            (elements *= static_cast<std::uint64_t>(size)) > options_.most_elements)
            fail(" is empty or has more than " + std::to_string(options_.most_elements) +
                 " elements");
}

// A value for the device, in the order that the node gives.
Value Importer::laid_out(const std::string& name, const Shape& shape, Order order) const {
    check_size(name, shape);
    Value value{name, shape};
    if (!lay_out(value, order))
        refuse("a tensor of shape " + to_text(shape) + " has no form on the device");
    return value;
}

ValueId Importer::add_value(const std::string& name, const Shape& shape, Order order) {
    graph_.values.push_back(laid_out(name, shape, order));
    return graph_.values.size() - 1;
}

// A value that the CPU or the user makes.  In which order the device has it, its first reader there
// says.
ValueId Importer::add_host_value(const std::string& name, const Shape& shape) {
    check_size(name, shape);
    Value value{name, shape};
    if (!lay_out(value, shape.size() == 4 && shape[0] == 1 ? Order::planes : Order::rows))
        value.channels = value.height = value.width = 0;
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

// The CPU computes with infinities and with not-a-number, the device has no steps for them.
void Importer::check_finite(const Node& node) const {
    const auto is_finite = [](float number) { return std::isfinite(number); };
    if (!std::ranges::all_of(node.weights, is_finite) || !std::ranges::all_of(node.bias, is_finite))
        refuse("its constants give numbers that are not finite; check them");
}

void Importer::finish(Node node, ValueId output) {
    check_finite(node);
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
    // In host memory the numbers are floats.
    for (ValueId input : graph_.inputs)
        if (const auto found = given_.bytes.find(graph_.values[input].name);
            found != given_.bytes.end() && is_on_device(input))
            graph_.values[input].user_type = found->second ? UserType::uint8 : UserType::int8;
}

// For operators whose output has the shape of `input`.  The value has that of the input's value, if
// that is called by another shape.
void Importer::finish_like(const Reference& input, Node node) {
    const Shape shape = input.shape;
    if (!value_of(input).fits_device())
        refuse("a tensor of shape " + to_text(shape) + " has no form on the device");
    node.inputs.insert(node.inputs.begin(), input.value);
    Value value = value_of(input);
    value.name = node_->output(0);
    value.given.reset();
    graph_.values.push_back(std::move(value));
    finish(std::move(node), graph_.values.size() - 1);
    references_[node_->output(0)].shape = shape;
}

} // namespace overtake::compiler
