// SPDX-License-Identifier: MIT
#include "compiler/import/inputs_outputs.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "compiler/import/bpu/order.hpp"
#include "compiler/import/cpu/nodes.hpp"
#include "compiler/import/cpu/round.hpp"
#include "compiler/import/nodes.hpp"
#include "compiler/ir/error.hpp"
#include "compiler/ir/layout.hpp"
#include "compiler/onnx/types.hpp"

namespace overtake::compiler {

namespace {

void read_constants(Context& context) {
    if (context.model.graph().sparse_initializer_size() > 0)
        throw CompileError(context.path, "sparse constants are not supported; export dense ones");
    for (const auto& tensor : context.model.graph().initializer()) {
        Constant& constant = context.constants[tensor.name()];
        constant = read_constant(tensor, context.path);
        context.types[tensor.name()] = tensor.data_type();
        if (const auto found = context.given.constants.find(tensor.name());
            found != context.given.constants.end())
            constant.given = found->second;
    }
}

void read_graph_inputs(Context& context) {
    for (const auto& input : context.model.graph().input()) {
        if (context.constants.contains(input.name()))
            continue;
        const std::string place = "input '" + input.name() + "' ";
        const int type = input.type().tensor_type().elem_type();
        const bool is_real = type == onnx::TensorProto::FLOAT || type == onnx::TensorProto::DOUBLE;
        const bool is_integer =
            type == onnx::TensorProto::INT64 || type == onnx::TensorProto::INT32 ||
            type == onnx::TensorProto::UINT32 || type == onnx::TensorProto::UINT64 ||
            type == onnx::TensorProto::BOOL || is_short_integer(type);
        if (!input.type().has_tensor_type() || (!is_real && !is_integer))
            throw CompileError(context.path,
                               place + "is neither of reals nor of integers or truth values; "
                                       "export the model in float32");
        context.types[input.name()] = type;
        const auto shape = static_shape(input);
        if (!shape)
            throw CompileError(context.path, place + "has no static shape");
        const ValueId value = add_host_value(context, input.name(), *shape);
        context.graph.inputs.push_back(value);
        context.references[input.name()] = {value, *shape, is_integer};
    }
    if (context.graph.inputs.empty())
        throw CompileError(context.path, "the model has no inputs; there is nothing to run");
    if (context.model.graph().output().empty())
        throw CompileError(context.path, "the model has no outputs; there is nothing to compute");
}

void read_shapes(Context& context) {
    for (const auto* list : {&context.model.graph().value_info(), &context.model.graph().output()})
        for (const auto& info : *list) {
            if (const auto shape = static_shape(info))
                context.shapes[info.name()] = *shape;
            if (const int type = info.type().tensor_type().elem_type();
                type != onnx::TensorProto::UNDEFINED)
                context.types[info.name()] = type;
        }
}

Shape without_ones(Shape shape) {
    std::erase(shape, 1);
    return shape;
}

// Whether a tensor in device memory can be given another shape: dimensions of 1 do not count, and a
// vector can have any dimensions.  Rows join all dimensions but the last two.
bool can_have_shape(const Value& value, const Shape& shape) {
    if (without_ones(shape).size() <= 1)
        return true;
    const auto dimensions = [](const Value& of) {
        return without_ones({of.height, of.width, of.channels});
    };
    Value other = value;
    other.shape = shape;
    return without_ones(value.shape) == without_ones(shape) &&
           (value.order != Order::rows ||
            (lay_out(other, Order::rows) && dimensions(other) == dimensions(value)));
}

// Returns the value with the output's own shape, on the device if it can be made there.
ValueId own_shape_of_output(Context& context, const Reference& reference) {
    std::optional<ValueId> on_device;
    if (is_on_device(context, reference.value))
        refusal_of(
            [&] { on_device = in_order(context, reference, value_of(context, reference).order); });
    return on_device ? *on_device : with_own_shape(context, reference);
}

// Returns a value that belongs to the output and that some node writes.
ValueId value_of_output(Context& context) {
    Graph& graph = context.graph;
    const Reference reference = cpu_input(context, 0);
    const Value& value = value_of(context, reference);
    const Node* writer = writer_of(context, reference.value);
    // An operator of the CPU has the shape that it computes.
    const bool is_same_run = can_have_shape(value, reference.shape) && writer && writer->on_bpu();
    const bool is_own =
        writer && std::ranges::find(graph.outputs, reference.value) == graph.outputs.end();
    ValueId id = reference.value;
    if (is_own &&
        (value.shape == reference.shape || (is_same_run && !is_read_by_cpu(context, id)))) {
        graph.values[id].shape = reference.shape;
    } else if (value.shape == reference.shape && is_on_device(context, id)) {
        Node node = new_node(context, op::Copy{});
        node.inputs = {id};
        graph.values.push_back(value);
        node.output = id = graph.values.size() - 1;
        add_node(context, std::move(node));
    } else if (value.shape == reference.shape) {
        id = cpu_node(context, {CpuOpType::dequantize, {}, {}}, {reference}, reference.shape).value;
    } else {
        id = own_shape_of_output(context, reference);
    }
    return id;
}

// Returns the roundings of values that only the CPU reads: inputs that the model rounds first, and
// values that the CPU writes.
Roundings roundings_on_cpu(const Context& context) {
    Roundings result;
    for (ValueId input : context.graph.inputs) {
        const auto found = context.given.tensors.find(context.graph.values[input].name);
        if (found != context.given.tensors.end() && !is_on_device(context, input) &&
            !context.given.bytes.contains(found->first))
            result.emplace_back(input, found->second);
    }
    for (const Node& node : context.graph.nodes) {
        const std::string& name = context.graph.values[node.output].name;
        if (!node.on_bpu() && !is_on_device(context, node.output) &&
            context.given.rounded.contains(name))
            result.emplace_back(node.output, context.given.tensors.at(name));
    }
    return result;
}

void apply_given_tensors(Context& context) {
    Graph& graph = context.graph;
    graph.comes_quantised = context.given.is_quantised;
    for (Value& value : graph.values)
        if (const auto found = context.given.tensors.find(value.name);
            found != context.given.tensors.end())
            value.given = found->second;
    // In host memory the elements are floats.
    for (ValueId input : graph.inputs)
        if (const auto found = context.given.bytes.find(graph.values[input].name);
            found != context.given.bytes.end() && is_on_device(context, input))
            graph.values[input].user_type = found->second ? UserType::uint8 : UserType::int8;
}

ElementType element_type_of(const onnx::ValueInfoProto& info) {
    switch (info.type().tensor_type().elem_type()) {
    case onnx::TensorProto::DOUBLE:
        return ElementType::float64;
    case onnx::TensorProto::FLOAT16:
        return ElementType::float16;
    case onnx::TensorProto::INT8:
        return ElementType::int8;
    case onnx::TensorProto::UINT8:
        return ElementType::uint8;
    case onnx::TensorProto::INT16:
        return ElementType::int16;
    case onnx::TensorProto::UINT16:
        return ElementType::uint16;
    case onnx::TensorProto::INT32:
        return ElementType::int32;
    case onnx::TensorProto::UINT32:
        return ElementType::uint32;
    case onnx::TensorProto::INT64:
        return ElementType::int64;
    case onnx::TensorProto::UINT64:
        return ElementType::uint64;
    case onnx::TensorProto::BOOL:
        return ElementType::boolean;
    default:
        return ElementType::float32;
    }
}

} // namespace

void read_inputs(Context& context) {
    read_constants(context);
    read_graph_inputs(context);
    read_shapes(context);
}

void read_outputs(Context& context) {
    onnx::NodeProto identity;
    identity.set_op_type("Identity");
    context.node = &identity;
    const Roundings roundings = roundings_on_cpu(context); // before outputs get other names
    for (const auto& output : context.model.graph().output()) {
        identity.set_name(output.name());
        identity.clear_input();
        identity.clear_output();
        identity.add_input(output.name());
        identity.add_output(output.name());
        context.parts = 0;
        const ValueId id = value_of_output(context);
        context.graph.values[id].name = output.name();
        context.graph.values[id].element_type = element_type_of(output);
        context.graph.outputs.push_back(id);
    }
    apply_given_tensors(context);
    round_on_cpu(context.graph, roundings);
}

} // namespace overtake::compiler
