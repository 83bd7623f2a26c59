// SPDX-License-Identifier: MIT
//
// Operators that only name or shape what is there, and those that are constants once shapes are
// known.
#include "compiler/import/importer.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace overtake::compiler {

void Importer::flatten() {
    Reference input = cpu_input(0);
    const auto rank = static_cast<std::int64_t>(input.shape.size());
    std::int64_t axis = Attributes(*node_).integer("axis", 1);
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis > rank)
        refuse("its axis lies outside the tensor");
    const auto product = [](auto first, auto last) {
        return std::accumulate(first, last, std::int64_t{1}, std::multiplies<>());
    };
    input.shape = {product(input.shape.begin(), input.shape.begin() + axis),
                   product(input.shape.begin() + axis, input.shape.end())};
    references_[node_->output(0)] = input;
}

// 0 keeps a dimension, -1 is whatever is left.
void Importer::reshape() {
    Reference input = cpu_input(0);
    Shape shape = integers_of(constant_input(1));
    const bool allows_zero = Attributes(*node_).integer("allowzero", 0) != 0;
    std::int64_t known = 1;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        if (shape[axis] == 0 && !allows_zero && axis < input.shape.size())
            shape[axis] = input.shape[axis];
        if (shape[axis] != -1 && __builtin_mul_overflow(known, shape[axis], &known))
            refuse("gives an impossible shape");
    }
    const auto elements = static_cast<std::int64_t>(element_count(input.shape));
    if (const auto open = std::ranges::find(shape, -1); open != shape.end() && known > 0) {
        *open = elements / known;
        known *= *open;
    }
    if (known != elements || std::ranges::any_of(shape, [](auto size) { return size < 1; }))
        refuse("from " + to_text(input.shape) + " to " + to_text(shape) +
               " changes the number of elements");
    input.shape = shape;
    references_[node_->output(0)] = input;
}

void Importer::squeeze() {
    Reference input = cpu_input(0);
    auto axes = Attributes(*node_).integers("axes", {});
    if (has_input(1))
        axes = integers_of(constant_input(1));
    const bool all = axes.empty();
    Shape shape;
    for (std::int64_t& axis : axes)
        axis = static_cast<std::int64_t>(axis_of(axis, input.shape.size()));
    for (std::size_t axis = 0; axis < input.shape.size(); ++axis) {
        const bool named = std::ranges::count(axes, static_cast<std::int64_t>(axis)) > 0;
        if (named && input.shape[axis] != 1)
            refuse("removes a dimension that is not 1");
        if (!named && !(all && input.shape[axis] == 1))
            shape.push_back(input.shape[axis]);
    }
    input.shape = shape;
    references_[node_->output(0)] = input;
}

void Importer::unsqueeze() {
    Reference input = cpu_input(0);
    auto axes = Attributes(*node_).integers("axes", {});
    if (has_input(1))
        axes = integers_of(constant_input(1));
    const std::size_t rank = input.shape.size() + axes.size();
    for (std::int64_t& axis : axes)
        axis = static_cast<std::int64_t>(axis_of(axis, rank));
    std::ranges::sort(axes);
    if (std::ranges::adjacent_find(axes) != axes.end())
        refuse("names an axis twice");
    for (std::int64_t axis : axes)
        input.shape.insert(input.shape.begin() + axis, 1);
    references_[node_->output(0)] = input;
}

void Importer::alias() {
    if (node_->output_size() > 1 && !node_->output(1).empty())
        refuse("its second output is not supported");
    // Dropout's third input, which no other of these has.
    if (has_input(2) && (!is_constant(2) || reals_of(constant_input(2)) != std::vector{0.0f}))
        refuse("is in training mode; export the model for inference");
    references_[node_->output(0)] = Reference(cpu_input(0));
}

void Importer::constant() {
    const Attributes attributes(*node_);
    Constant constant;
    if (const onnx::TensorProto* tensor = attributes.tensor("value")) {
        constant = read_constant(*tensor, path_);
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
        refuse("is supported for numbers only");
    }
    constants_[node_->output(0)] = std::move(constant);
}

// Shape and Size: known here, whatever the data.
void Importer::shape_constant() {
    const auto found = references_.find(input_name(0));
    const Shape shape = found != references_.end() ? found->second.shape : constant_input(0).shape;
    Constant constant;
    if (node_->op_type() == "Size") {
        constant.integers = {static_cast<std::int64_t>(element_count(shape))};
    } else {
        const auto rank = static_cast<std::int64_t>(shape.size());
        const auto clamp = [&](std::int64_t axis) {
            return std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
        };
        const std::int64_t start = clamp(Attributes(*node_).integer("start", 0));
        const std::int64_t end = clamp(Attributes(*node_).integer("end", rank));
        constant.integers.assign(shape.begin() + start, shape.begin() + std::max(start, end));
        constant.shape = {static_cast<std::int64_t>(constant.integers.size())};
    }
    constants_[node_->output(0)] = std::move(constant);
}

void Importer::constant_of_shape() {
    const std::size_t most = std::min<std::size_t>(1 << 24, options_.most_elements);
    Constant constant, value;
    value.floats = {0.0f};
    if (const onnx::TensorProto* tensor = Attributes(*node_).tensor("value"))
        value = read_constant(*tensor, path_);
    for (std::int64_t size : integers_of(constant_input(0))) {
        constant.shape.push_back(size);
        if (size < 1 || static_cast<std::uint64_t>(size) > most ||
            element_count(constant.shape) > most)
            refuse("gives an empty or a huge tensor");
    }
    const std::size_t count = element_count(constant.shape);
    if (reals_of(value).size() != 1)
        refuse("its value must be a single number");
    if (value.integers.empty())
        constant.floats.assign(count, value.floats[0]);
    else
        constant.integers.assign(count, value.integers[0]);
    constants_[node_->output(0)] = std::move(constant);
}

void Importer::range_constant() {
    const auto most = static_cast<double>(std::min<std::uint64_t>(1 << 24, options_.most_elements));
    std::vector<float> numbers;
    for (int index = 0; index < 3; ++index) {
        const auto values = reals_of(constant_input(index));
        if (values.size() != 1)
            refuse("needs three numbers");
        numbers.push_back(values[0]);
    }
    const double count = std::ceil((double{numbers[1]} - numbers[0]) / numbers[2]);
    if (!(count >= 1 && count <= most))
        refuse("gives an empty or a huge tensor");
    Constant constant;
    const bool is_integer = !constant_input(0).integers.empty();
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(count); ++i) {
        constant.floats.push_back(numbers[0] + static_cast<float>(i) * numbers[2]);
    }
    if (is_integer) {
        constant.integers = integers_of(constant);
        constant.floats.clear();
    }
    constant.shape = {static_cast<std::int64_t>(count)};
    constants_[node_->output(0)] = std::move(constant);
}

} // namespace overtake::compiler
