// SPDX-License-Identifier: MIT
#include "compiler/import/constants.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "compiler/import/context.hpp"

namespace overtake::compiler {

void import_constant(Context& context) {
    const Attributes attributes(*context.node);
    Constant constant;
    if (const onnx::TensorProto* tensor = attributes.tensor("value")) {
        constant = read_constant(*tensor, context.path);
    } else if (attributes.has("value_float")) {
        constant.floats = {attributes.real("value_float", 0)};
    } else if (attributes.has("value_int")) {
        constant.integers = {attributes.integer("value_int", 0)};
    } else if (attributes.has("value_floats")) {
        constant.floats = attributes.reals("value_floats");
        constant.shape = {static_cast<std::int64_t>(constant.floats.size())};
    } else if (attributes.has("value_ints")) {
        constant.integers = attributes.integers("value_ints", {});
        constant.shape = {static_cast<std::int64_t>(constant.integers.size())};
    } else {
        refuse(context, "is supported for numbers only");
    }
    context.constants[context.node->output(0)] = std::move(constant);
}

void import_shape_constant(Context& context) {
    const auto found = context.references.find(input_name(context, 0));
    const Shape shape =
        found != context.references.end() ? found->second.shape : constant_input(context, 0).shape;
    Constant constant;
    if (context.node->op_type() == "Size") {
        constant.integers = {static_cast<std::int64_t>(element_count(shape))};
    } else {
        const auto rank = static_cast<std::int64_t>(shape.size());
        const auto clamp = [&](std::int64_t axis) {
            return std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
        };
        const std::int64_t start = clamp(Attributes(*context.node).integer("start", 0));
        const std::int64_t end = clamp(Attributes(*context.node).integer("end", rank));
        constant.integers.assign(shape.begin() + start, shape.begin() + std::max(start, end));
        constant.shape = {static_cast<std::int64_t>(constant.integers.size())};
    }
    context.constants[context.node->output(0)] = std::move(constant);
}

void import_constant_of_shape(Context& context) {
    const std::size_t most = std::min<std::size_t>(1 << 24, context.options.most_elements);
    Constant constant, value;
    value.floats = {0.0f};
    if (const onnx::TensorProto* tensor = Attributes(*context.node).tensor("value"))
        value = read_constant(*tensor, context.path);
    for (std::int64_t size : integers_of(constant_input(context, 0))) {
        constant.shape.push_back(size);
        if (size < 1 || static_cast<std::uint64_t>(size) > most ||
            element_count(constant.shape) > most)
            refuse(context, "gives an empty or a huge tensor");
    }
    const std::size_t count = element_count(constant.shape);
    if (reals_of(value).size() != 1)
        refuse(context, "its value must be a single number");
    if (value.integers.empty())
        constant.floats.assign(count, value.floats[0]);
    else
        constant.integers.assign(count, value.integers[0]);
    context.constants[context.node->output(0)] = std::move(constant);
}

void import_range_constant(Context& context) {
    const auto most =
        static_cast<double>(std::min<std::uint64_t>(1 << 24, context.options.most_elements));
    std::vector<float> numbers;
    for (int index = 0; index < 3; ++index) {
        const auto values = reals_of(constant_input(context, index));
        if (values.size() != 1)
            refuse(context, "needs three numbers");
        numbers.push_back(values[0]);
    }
    const double count = std::ceil((double{numbers[1]} - numbers[0]) / numbers[2]);
    if (!(count >= 1 && count <= most))
        refuse(context, "gives an empty or a huge tensor");
    Constant constant;
    const bool is_integer = !constant_input(context, 0).integers.empty();
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(count); ++i) {
        constant.floats.push_back(numbers[0] + static_cast<float>(i) * numbers[2]);
    }
    if (is_integer) {
        constant.integers = integers_of(constant);
        constant.floats.clear();
    }
    constant.shape = {static_cast<std::int64_t>(count)};
    context.constants[context.node->output(0)] = std::move(constant);
}

} // namespace overtake::compiler
