// SPDX-License-Identifier: MIT
#include "compiler/import/context.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/ir/error.hpp"
#include "compiler/ir/limits.hpp"
#include "compiler/onnx/node_builder.hpp"

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

// Returns integers: a number out of range becomes the nearest of 64 bits, and NaN becomes 0.
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

void refuse(const Context& context, const std::string& reason) {
    throw CompileError(context.path, "node '" + node_name(context) + "' (" +
                                         context.node->op_type() + "): " + reason);
}

std::string node_name(const Context& context) {
    return node_name_of(*context.node);
}

bool has_input(const Context& context, int index) {
    return index < context.node->input_size() && !context.node->input(index).empty();
}

const std::string& input_name(const Context& context, int index) {
    if (!has_input(context, index))
        refuse(context, "input " + std::to_string(index) + " is missing");
    return context.node->input(index);
}

bool is_constant(const Context& context, int index) {
    return has_input(context, index) && context.constants.contains(context.node->input(index));
}

const Constant& constant_input(const Context& context, int index) {
    const auto found = context.constants.find(input_name(context, index));
    if (found == context.constants.end())
        refuse(context, "input '" + input_name(context, index) + "' must be a constant");
    return found->second;
}

const std::vector<float>& float_input(const Context& context, int index) {
    const Constant& constant = constant_input(context, index);
    if (constant.floats.size() != element_count(constant.shape))
        refuse(context, "input '" + input_name(context, index) + "' must be a float32 constant");
    return constant.floats;
}

const Reference& variable_input(const Context& context, int index) {
    const auto found = context.references.find(input_name(context, index));
    if (found == context.references.end())
        refuse(context, "input '" + input_name(context, index) +
                            "' is a constant; fold constants before export");
    return found->second;
}

namespace {

// Infers shapes again: with the constants and shapes that import has found, libonnx may know more.
void infer_shape(Context& context) {
    onnx::ModelProto model;
    model.set_ir_version(8);
    for (const auto& import : context.model.opset_import())
        *model.add_opset_import() = import;
    auto& graph = *model.mutable_graph();
    graph.set_name("node");
    *graph.add_node() = *context.node;
    std::set<std::string> known;
    for (int index = 0; index < context.node->input_size(); ++index) {
        const std::string& name = context.node->input(index);
        if (name.empty() || !known.insert(name).second)
            continue;
        if (is_constant(context, index)) {
            write_constant(constant_input(context, index), name, *graph.add_initializer());
        } else if (const auto found = context.references.find(name);
                   found != context.references.end()) {
            auto& input = *graph.add_input();
            input.set_name(name);
            auto& type = *input.mutable_type()->mutable_tensor_type();
            type.set_elem_type(context.types.contains(name) ? context.types.at(name)
                                                            : int{onnx::TensorProto::FLOAT});
            type.mutable_shape();
            for (std::int64_t size : found->second.shape)
                type.mutable_shape()->add_dim()->set_dim_value(size);
        }
    }
    for (const std::string& name : context.node->output())
        graph.add_output()->set_name(name);
    try {
        context.libonnx.infer_shapes(model);
    } catch (const CompileError&) {
        return; // the code that needs the shape reports it
    }
    for (const auto& output : model.graph().output())
        if (const auto shape = static_shape(output))
            context.shapes[output.name()] = *shape;
}

} // namespace

Shape output_shape(Context& context) {
    if (!context.shapes.contains(context.node->output(0)))
        infer_shape(context);
    const auto found = context.shapes.find(context.node->output(0));
    if (found == context.shapes.end())
        refuse(context,
               "the shape of its output is not known before run time; export static shapes");
    check_size(context, context.node->output(0), found->second);
    return found->second;
}

// Refuses values that the runtime would refuse, or for which there is no memory.
void check_size(const Context& context, const std::string& name, const Shape& shape) {
    const auto fail = [&](const std::string& what) {
        const std::string reason = "tensor '" + name + "' of shape " + to_text(shape) + what;
        if (context.node)
            refuse(context, reason);
        throw CompileError(context.path, reason);
    };
    if (shape.size() > 8)
        fail(" has more than 8 dimensions");
    std::uint64_t elements = 1;
    for (std::int64_t size : shape)
        if (size < 1 || size > max_elements ||
            (elements *= static_cast<std::uint64_t>(size)) > context.options.most_elements)
            fail(" is empty or has more than " + std::to_string(context.options.most_elements) +
                 " elements");
}

// Checks numbers, which a file may make arbitrarily large, before anything is computed from them.
void check_between(const Context& context, const std::vector<std::int64_t>& numbers,
                   std::int64_t low, std::int64_t high, const char* attribute) {
    for (const std::int64_t number : numbers)
        if (number < low || number > high)
            refuse(context, std::string(attribute) + " holds " + std::to_string(number) +
                                ", which does not lie in " + std::to_string(low) + ".." +
                                std::to_string(high));
}

std::size_t axis_of(const Context& context, std::int64_t axis, std::size_t rank) {
    const auto count = static_cast<std::int64_t>(rank);
    axis += axis < 0 ? count : 0;
    if (axis < 0 || axis >= count)
        refuse(context, "its axis lies outside the tensor");
    return static_cast<std::size_t>(axis);
}

Shape broadcast_shape(const Context& context, const Shape& left, const Shape& right) {
    Shape result(std::max(left.size(), right.size()), 1);
    for (std::size_t i = 0; i < result.size(); ++i) {
        const std::int64_t a = i < left.size() ? left[left.size() - 1 - i] : 1;
        const std::int64_t b = i < right.size() ? right[right.size() - 1 - i] : 1;
        if ((a != b && a != 1 && b != 1) || a < 1 || b < 1)
            refuse(context, "operands of shapes " + to_text(left) + " and " + to_text(right) +
                                " do not fit each other");
        result[result.size() - 1 - i] = std::max(a, b);
    }
    return result;
}

} // namespace overtake::compiler
