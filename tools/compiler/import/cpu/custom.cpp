// SPDX-License-Identifier: MIT
//
// Nodes of a program's own domain.
#include "compiler/import/cpu/operators.hpp"

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "compiler/import/context.hpp"
#include "compiler/import/cpu/nodes.hpp"
#include "overtake/custom_operator.hpp"
#include "overtake/error.hpp"

namespace overtake::compiler {

namespace {

void read_tensor(const Context& context, const onnx::TensorProto& tensor, OperatorAttribute& to) {
    const Constant constant = read_constant(tensor, node_name(context));
    to.shape = constant.shape;
    to.integers = constant.integers;
    to.reals = constant.floats;
}

OperatorAttribute attribute_of(const Context& context, const onnx::AttributeProto& from) {
    OperatorAttribute attribute;
    attribute.name = from.name();
    switch (from.type()) {
    case onnx::AttributeProto::INT:
        attribute.integers = {from.i()};
        break;
    case onnx::AttributeProto::INTS:
        attribute.integers.assign(from.ints().begin(), from.ints().end());
        break;
    case onnx::AttributeProto::FLOAT:
        attribute.reals = {from.f()};
        break;
    case onnx::AttributeProto::FLOATS:
        attribute.reals.assign(from.floats().begin(), from.floats().end());
        break;
    case onnx::AttributeProto::STRING:
        attribute.strings = {from.s()};
        break;
    case onnx::AttributeProto::STRINGS:
        attribute.strings.assign(from.strings().begin(), from.strings().end());
        break;
    case onnx::AttributeProto::TENSOR:
        read_tensor(context, from.t(), attribute);
        break;
    default:
        refuse(context, "its attribute '" + from.name() +
                            "' is neither a number, a text, a list of them nor a tensor");
    }
    return attribute;
}

std::vector<std::uint32_t> shape_of(const Shape& shape) {
    if (shape.empty())
        return {1};
    return {shape.begin(), shape.end()};
}

// Checks the operator here, since calibration computes the network in float as well.
void check_registered(const Context& context, const OperatorDescription& node) {
    try {
        create_custom_operator(node);
    } catch (const Error& error) {
        if (error.code() != ENOENT)
            refuse(context, error.what());
        refuse(context, "the custom operator is not registered; give --custom-op-library FILE "
                        "(custom_op.library), whose overtake_register_operators() registers it");
    }
}

} // namespace

void cpu_custom(Context& context) {
    if (context.node->output_size() != 1)
        refuse(context, "a custom operator has one output here; make an operator of each");
    auto custom = std::make_shared<OperatorDescription>();
    const CustomType type = custom_type_of(*context.node);
    custom->domain = type.domain;
    custom->type = type.type;
    custom->node = node_name(context);
    for (const onnx::AttributeProto& attribute : context.node->attribute())
        custom->attributes.push_back(attribute_of(context, attribute));
    std::vector<Reference> inputs;
    for (int index = 0; index < context.node->input_size(); ++index) {
        inputs.push_back(cpu_input(context, index));
        custom->inputs.push_back(shape_of(inputs.back().shape));
    }
    if (inputs.empty())
        refuse(context, "a custom operator needs an input");
    const Shape shape = output_shape(context);
    custom->output = shape_of(shape);
    check_registered(context, *custom);
    op::Cpu form{CpuOpType::custom};
    form.custom = std::move(custom);
    finish_cpu(context, cpu_node(context, form, inputs, shape));
}

} // namespace overtake::compiler
