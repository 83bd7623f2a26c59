// SPDX-License-Identifier: MIT
#include "compiler/import/cpu/nodes.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compiler/import/context.hpp"
#include "compiler/import/nodes.hpp"
#include "compiler/ir/limits.hpp"
#include "cpu/operation.hpp"

namespace overtake::compiler {

using cpu::Unary;

Reference cpu_constant(Context& context, const Shape& shape, std::vector<float> elements) {
    Value value{node_name(context) + ":constant" + std::to_string(context.parts++), shape};
    check_size(context, value.name, shape);
    value.constant = std::move(elements);
    context.graph.values.push_back(std::move(value));
    return {context.graph.values.size() - 1, shape};
}

Reference cpu_input(Context& context, int index) {
    if (!is_constant(context, index)) {
        const auto found = context.references.find(input_name(context, index));
        if (found == context.references.end())
            refuse(context, "input '" + input_name(context, index) + "' is not known");
        return found->second;
    }
    const Constant& constant = constant_input(context, index);
    for (std::int64_t integer : constant.integers)
        if (integer > max_exact_integer || integer < -max_exact_integer)
            refuse(context, "input '" + input_name(context, index) + "' holds the integer " +
                                std::to_string(integer) +
                                ", which lies beyond 2^24 and what float32 holds exactly");
    if (constant.floats.empty() && constant.integers.empty())
        refuse(context, "input '" + input_name(context, index) + "' is empty");
    Reference reference = cpu_constant(context, constant.shape, reals_of(constant));
    reference.integer = !constant.integers.empty();
    return reference;
}

ValueId with_own_shape(Context& context, const Reference& reference) {
    const Value value = value_of(context, reference);
    if (value.shape == reference.shape)
        return reference.value;
    if (value.is_constant())
        return cpu_constant(context, reference.shape, value.constant).value;
    const auto key = std::pair(reference.value, reference.shape);
    if (const auto known = context.copied.find(key))
        return *known;
    Node node = new_node(context, op::Cpu{});
    node.name += ":shape" + std::to_string(context.parts++);
    node.onnx_type = "Reshape";
    node.inputs = {reference.value};
    node.output = add_host_value(context, node.name, reference.shape);
    add_node(context, std::move(node));
    const ValueId made = context.graph.nodes.back().output;
    context.copied.add(key, made);
    return made;
}

Reference cpu_node(Context& context, const op::Cpu& form, const std::vector<Reference>& inputs,
                   const Shape& shape) {
    Node node = new_node(context, form);
    std::vector<ValueId> values;
    for (const Reference& input : inputs)
        values.push_back(with_own_shape(context, input));
    node.inputs = std::move(values);
    node.output =
        add_host_value(context, node_name(context) + ":" + std::to_string(context.parts++), shape);
    add_node(context, std::move(node));
    return {context.graph.nodes.back().output, shape};
}

void finish_cpu(Context& context, const Reference& result, int output) {
    const std::string& name = context.node->output(output);
    const Value& value = value_of(context, result);
    const bool is_new = value.name.starts_with(node_name(context) + ":");
    if (is_new && value.shape == result.shape && !value.is_constant())
        change_value(context, result.value).name = name;
    context.references[name] = result;
}

std::vector<std::int64_t> steps_of(const Shape& shape) {
    std::vector<std::int64_t> steps(shape.size(), 1);
    for (std::size_t axis = shape.size(); axis-- > 1;)
        steps[axis - 1] = steps[axis] * shape[axis];
    return steps;
}

Reference cpu_view(Context& context, const Reference& input, std::int64_t offset,
                   std::vector<std::int64_t> steps, const Shape& shape) {
    steps.insert(steps.begin(), offset);
    if (shape.empty())
        steps.push_back(0); // the CPU's scalars have one dimension
    Reference result = cpu_node(context, {CpuOpType::view, steps, {}}, {input}, shape);
    result.integer = input.integer;
    return result;
}

Reference cpu_truncated(Context& context, const Reference& input) {
    Reference result =
        cpu_node(context, {CpuOpType::unary, {static_cast<std::int64_t>(Unary::truncate)}, {}},
                 {input}, input.shape);
    result.integer = true;
    return result;
}

} // namespace overtake::compiler
