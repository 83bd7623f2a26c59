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

const std::string& first_output_of(const onnx::NodeProto& node) {
    for (const std::string& output : node.output())
        if (!output.empty())
            return output;
    return node.name();
}

const std::string& node_name_of(const onnx::NodeProto& node) {
    return node.name().empty() ? first_output_of(node) : node.name();
}

void set_integers(onnx::NodeProto& node, const std::string& name,
                  const std::vector<std::int64_t>& numbers) {
    attribute_of(node, name, onnx::AttributeProto::INTS)
        .mutable_ints()
        ->Assign(numbers.begin(), numbers.end());
}

void set_integer(onnx::NodeProto& node, const std::string& name, std::int64_t number) {
    attribute_of(node, name, onnx::AttributeProto::INT).set_i(number);
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
    node.set_name(node_name_of(replaced_) + ":" + std::to_string(nodes_.size()));
    for (const std::string& input : inputs)
        node.add_input(input);
    node.add_output(names_.take(first_output_of(replaced_) + ":" + std::to_string(nodes_.size())));
    return node;
}

std::string NodeBuilder::operator()(const std::string& type,
                                    const std::vector<std::string>& inputs) {
    return node(type, inputs).output(0);
}

onnx::NodeProto& NodeBuilder::last(const std::string& type, const std::vector<std::string>& inputs,
                                   int output) {
    onnx::NodeProto& made = node(type, inputs);
    if (output == 0)
        made.set_name(replaced_.name());
    made.set_output(0, replaced_.output(output));
    return made;
}

std::string NodeBuilder::cast(const std::string& tensor, int type) {
    onnx::NodeProto& made = node("Cast", {tensor});
    set_integer(made, "to", type);
    return made.output(0);
}

std::string NodeBuilder::reshaped(const std::string& tensor,
                                  const std::vector<std::int64_t>& shape) {
    return (*this)("Reshape", {tensor, integers(shape)});
}

std::string NodeBuilder::transposed(const std::string& tensor,
                                    const std::vector<std::int64_t>& order) {
    onnx::NodeProto& made = node("Transpose", {tensor});
    set_integers(made, "perm", order);
    return made.output(0);
}

std::string NodeBuilder::unsqueezed(const std::string& tensor,
                                    const std::vector<std::int64_t>& axes) {
    return (*this)("Unsqueeze", {tensor, integers(axes)});
}

std::string NodeBuilder::summed(const std::string& tensor, const std::vector<std::int64_t>& axes) {
    const std::string all = integers(axes);
    onnx::NodeProto& made = node("ReduceSum", {tensor, all});
    set_integer(made, "keepdims", 0);
    return made.output(0);
}

onnx::TensorProto& NodeBuilder::constant(int type) {
    onnx::TensorProto& tensor = *graph_.add_initializer();
    tensor.set_name(
        names_.take(first_output_of(replaced_) + ":constant" + std::to_string(++constants_)));
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

std::string NodeBuilder::integers(const std::vector<std::int64_t>& numbers,
                                  const std::vector<std::int64_t>& shape) {
    onnx::TensorProto& tensor = constant(onnx::TensorProto::INT64);
    tensor.mutable_dims()->Assign(shape.begin(), shape.end());
    tensor.mutable_int64_data()->Assign(numbers.begin(), numbers.end());
    return tensor.name();
}

std::string NodeBuilder::truths(const std::vector<bool>& values,
                                const std::vector<std::int64_t>& shape) {
    onnx::TensorProto& tensor = constant(onnx::TensorProto::BOOL);
    tensor.mutable_dims()->Assign(shape.begin(), shape.end());
    tensor.mutable_int32_data()->Assign(values.begin(), values.end());
    return tensor.name();
}

std::string NodeBuilder::number(int type, std::int64_t number) {
    onnx::TensorProto& tensor = constant(type);
    switch (type) {
    case onnx::TensorProto::FLOAT:
        tensor.add_float_data(static_cast<float>(number));
        break;
    case onnx::TensorProto::DOUBLE:
        tensor.add_double_data(static_cast<double>(number));
        break;
    case onnx::TensorProto::INT64:
        tensor.add_int64_data(number);
        break;
    case onnx::TensorProto::UINT32:
    case onnx::TensorProto::UINT64:
        tensor.add_uint64_data(static_cast<std::uint64_t>(number));
        break;
    default:
        tensor.add_int32_data(static_cast<std::int32_t>(number));
    }
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
