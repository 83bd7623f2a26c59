// SPDX-License-Identifier: MIT
#include "compiler/onnx/node_builder.hpp"

#include <utility>

namespace overtake::compiler {
namespace {

onnx::AttributeProto& attribute_of(onnx::NodeProto& node, const std::string& name,
                                   onnx::AttributeProto::AttributeType type) {
    onnx::AttributeProto* found = nullptr;
    for (auto& attribute : *node.mutable_attribute())
        if (attribute.name() == name)
            found = &attribute;
    if (!found)
        found = node.add_attribute();
    found->Clear();
    found->set_name(name);
    found->set_type(type);
    return *found;
}

} // namespace

void set_integers(onnx::NodeProto& node, const std::string& name,
                  const std::vector<std::int64_t>& numbers) {
    attribute_of(node, name, onnx::AttributeProto::INTS)
        .mutable_ints()
        ->Assign(numbers.begin(), numbers.end());
}

void set_real(onnx::NodeProto& node, const std::string& name, float number) {
    attribute_of(node, name, onnx::AttributeProto::FLOAT).set_f(number);
}

void set_text(onnx::NodeProto& node, const std::string& name, const std::string& text) {
    attribute_of(node, name, onnx::AttributeProto::STRING).set_s(text);
}

onnx::NodeProto& NodeBuilder::node(const std::string& type,
                                   const std::vector<std::string>& inputs) {
    onnx::NodeProto& node = nodes_.emplace_back();
    node.set_op_type(type);
    const std::string base = replaced_.name().empty() ? replaced_.output(0) : replaced_.name();
    node.set_name(base + ":" + std::to_string(nodes_.size()));
    for (const std::string& input : inputs)
        node.add_input(input);
    node.add_output(names_.take(replaced_.output(0) + ":" + std::to_string(nodes_.size())));
    return node;
}

std::string NodeBuilder::operator()(const std::string& type,
                                    const std::vector<std::string>& inputs) {
    return node(type, inputs).output(0);
}

void NodeBuilder::last(const std::string& type, const std::vector<std::string>& inputs) {
    onnx::NodeProto& made = node(type, inputs);
    made.set_name(replaced_.name());
    made.set_output(0, replaced_.output(0));
}

onnx::TensorProto& NodeBuilder::constant(int type) {
    onnx::TensorProto& tensor = *graph_.add_initializer();
    tensor.set_name(names_.take(replaced_.output(0) + ":constant"));
    tensor.set_data_type(type);
    return tensor;
}

std::string NodeBuilder::real(float number) {
    onnx::TensorProto& tensor = constant(onnx::TensorProto::FLOAT);
    tensor.add_float_data(number);
    return tensor.name();
}

std::string NodeBuilder::reals(const std::vector<float>& numbers) {
    onnx::TensorProto& tensor = constant(onnx::TensorProto::FLOAT);
    tensor.add_dims(static_cast<std::int64_t>(numbers.size()));
    tensor.mutable_float_data()->Assign(numbers.begin(), numbers.end());
    return tensor.name();
}

std::string NodeBuilder::integers(const std::vector<std::int64_t>& numbers) {
    onnx::TensorProto& tensor = constant(onnx::TensorProto::INT64);
    tensor.add_dims(static_cast<std::int64_t>(numbers.size()));
    tensor.mutable_int64_data()->Assign(numbers.begin(), numbers.end());
    return tensor.name();
}

std::string NodeBuilder::zero_point(int type, const std::vector<std::int64_t>& shape) {
    onnx::TensorProto& tensor = constant(type);
    std::int64_t count = 1;
    for (const std::int64_t size : shape) {
        tensor.add_dims(size);
        count *= size;
    }
    for (std::int64_t index = 0; index < count; ++index)
        tensor.add_int32_data(0);
    return tensor.name();
}

} // namespace overtake::compiler
