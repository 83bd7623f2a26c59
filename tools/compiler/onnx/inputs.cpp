// SPDX-License-Identifier: MIT
#include "compiler/onnx/inputs.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "compiler/ir/error.hpp"
#include "compiler/ir/limits.hpp"
#include "compiler/onnx/file.hpp"

namespace overtake::compiler {
namespace {

// The same limit as for folded constants.
constexpr std::int64_t max_set_elements = 1 << 24;

// Removes shapes of tensors behind the inputs: they hold only for the file's own input shapes.
void forget_shapes(onnx::ModelProto& model) {
    model.mutable_graph()->clear_value_info();
    for (auto& output : *model.mutable_graph()->mutable_output())
        if (output.type().has_tensor_type())
            output.mutable_type()->mutable_tensor_type()->clear_shape();
}

template <typename Settings>
void check_input_names(const onnx::ModelProto& model, const Settings& settings, const char* option,
                       const std::string& path) {
    for (const auto& [name, setting] : settings)
        if (std::ranges::none_of(model.graph().input(), [&name = name](const auto& input) {
                return input.name() == name;
            }))
            throw CompileError(std::string(option) + " " + name, path + " has no such input");
}

// Sets the shape; returns whether a dimension differs from the file's.
bool give_shape(onnx::ValueInfoProto& input, const std::vector<std::int64_t>& given,
                const std::string& path) {
    auto* shape = input.mutable_type()->mutable_tensor_type()->mutable_shape();
    if (shape->dim_size() != 0 && shape->dim_size() != static_cast<int>(given.size()))
        throw CompileError("--input-shape " + input.name(), path + ": the input has " +
                                                                std::to_string(shape->dim_size()) +
                                                                " dimensions");
    bool is_other = false;
    for (int axis = 0; axis < shape->dim_size(); ++axis)
        is_other =
            is_other || (shape->dim(axis).has_dim_value() &&
                         shape->dim(axis).dim_value() != given[static_cast<std::size_t>(axis)]);
    shape->clear_dim();
    for (const std::int64_t size : given)
        shape->add_dim()->set_dim_value(size);
    return is_other;
}

// Returns a text such as "1x3x?x?".
std::string to_text(const onnx::TensorShapeProto& shape) {
    std::string text;
    for (const auto& size : shape.dim())
        text += (text.empty() ? "" : "x") +
                (size.has_dim_value() ? std::to_string(size.dim_value()) : "?");
    return text;
}

// Whether a dimension other than the batch differs; another batch fits most networks.
bool differs_behind_batch(const onnx::TensorShapeProto& shape,
                          const std::vector<std::int64_t>& given) {
    for (int axis = 1; axis < shape.dim_size(); ++axis)
        if (shape.dim(axis).has_dim_value() &&
            shape.dim(axis).dim_value() != given[static_cast<std::size_t>(axis)])
            return true;
    return false;
}

std::vector<std::string> parts_of(const std::string& text) {
    std::vector<std::string> parts = {""};
    for (const char character : text)
        if (character == ',')
            parts.emplace_back();
        else
            parts.back() += character;
    return parts;
}

// Returns the whole text as one number; nothing if it is no number.
template <typename Number>
std::optional<Number> number_in(const std::string& text) {
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size())
        return std::nullopt;
    return number;
}

// Makes a constant of an input, of the input's type.
class Freezer {
public:
    Freezer(const onnx::ValueInfoProto& input, const std::string& text)
        : input_(input), parts_(parts_of(text)) {}

    onnx::TensorProto constant() const {
        onnx::TensorProto tensor;
        tensor.set_name(input_.name());
        std::int64_t count = 1;
        for (const std::int64_t size : shape()) {
            tensor.add_dims(size);
            if (__builtin_mul_overflow(count, size, &count) || count > max_set_elements)
                refuse("the input has more than " + std::to_string(max_set_elements) +
                       " elements, which is too many to be set");
        }
        if (parts_.size() != 1 && static_cast<std::int64_t>(parts_.size()) != count)
            refuse("the input has " + std::to_string(count) + " elements, and " +
                   std::to_string(parts_.size()) + " numbers are given");
        const int type = input_.type().tensor_type().elem_type();
        tensor.set_data_type(type);
        if (type == onnx::TensorProto::FLOAT) {
            fill(tensor.mutable_float_data(), count, reals<float>());
        } else if (type == onnx::TensorProto::DOUBLE) {
            fill(tensor.mutable_double_data(), count, reals<double>());
        } else {
            const std::vector<std::int64_t> numbers = integers(type);
            if (type == onnx::TensorProto::INT64)
                fill(tensor.mutable_int64_data(), count, numbers);
            else
                fill(tensor.mutable_int32_data(), count, numbers);
        }
        return tensor;
    }

private:
    [[noreturn]] void refuse(const std::string& reason) const {
        throw CompileError("--set-input " + input_.name(), reason);
    }

    std::vector<std::int64_t> shape() const {
        if (!input_.type().has_tensor_type())
            refuse("the input is no tensor");
        if (const auto shape = static_shape(input_))
            return *shape;
        const auto& dimensions = input_.type().tensor_type().shape();
        if (std::ranges::any_of(dimensions.dim(), [](const auto& dimension) {
                return dimension.has_dim_value() && dimension.dim_value() < 1;
            }))
            refuse("the input is empty: a dimension of its shape is less than 1");
        if (!input_.type().tensor_type().has_shape() && parts_.size() == 1)
            return {};
        if (dimensions.dim_size() <= 1)
            return {static_cast<std::int64_t>(parts_.size())};
        refuse("the input's shape is open; give it with --input-shape " + input_.name() + "=...");
    }

    template <typename Real>
    std::vector<Real> reals() const {
        std::vector<Real> reals;
        for (const std::string& part : parts_) {
            const auto real = number_in<Real>(part);
            if (!real || !std::isfinite(*real))
                refuse("'" + part + "' is not a number");
            reals.push_back(*real);
        }
        return reals;
    }

    std::vector<std::int64_t> integers(int type) const {
        static const std::map<int, std::pair<std::int64_t, std::int64_t>> ranges = {
            {onnx::TensorProto::INT64, {INT64_MIN, INT64_MAX}},
            {onnx::TensorProto::INT32, {INT32_MIN, INT32_MAX}},
            {onnx::TensorProto::INT8, {-128, 127}},
            {onnx::TensorProto::UINT8, {0, 255}},
            {onnx::TensorProto::BOOL, {0, 1}}};
        const auto range = ranges.find(type);
        if (range == ranges.end())
            refuse("inputs of its type cannot be set");
        std::vector<std::int64_t> integers;
        for (const std::string& part : parts_) {
            const auto integer = number_in<std::int64_t>(part);
            if (!integer || *integer < range->second.first || *integer > range->second.second)
                refuse("'" + part + "' is not a whole number in " +
                       std::to_string(range->second.first) + ".." +
                       std::to_string(range->second.second));
            integers.push_back(*integer);
        }
        return integers;
    }

    template <typename Field, typename Number>
    static void fill(Field* field, std::int64_t count, const std::vector<Number>& numbers) {
        using Element = typename Field::value_type;
        for (std::int64_t index = 0; index < count; ++index)
            field->Add(static_cast<Element>(
                numbers[numbers.size() == 1 ? 0 : static_cast<std::size_t>(index)]));
    }

    const onnx::ValueInfoProto& input_;
    const std::vector<std::string> parts_;
};

std::set<std::string> initializers_of(const onnx::ModelProto& model) {
    std::set<std::string> names;
    for (const auto& tensor : model.graph().initializer())
        names.insert(tensor.name());
    return names;
}

} // namespace

void set_input_shapes(onnx::ModelProto& model, const InputSettings& settings,
                      const std::string& path) {
    check_input_names(model, settings.shapes, "--input-shape", path);
    bool is_other = false;
    for (auto& input : *model.mutable_graph()->mutable_input()) {
        if (!input.type().has_tensor_type())
            continue;
        if (const auto given = settings.shapes.find(input.name()); given != settings.shapes.end()) {
            const onnx::TensorShapeProto before = input.type().tensor_type().shape();
            if (!give_shape(input, given->second, path))
                continue;
            is_other = true;
            if (settings.warn && differs_behind_batch(before, given->second))
                settings.warn(path + ": input '" + input.name() +
                              "': the shape given replaces the "
                              "fixed " +
                              to_text(before) +
                              " of the model; what the model computes "
                              "from that may not fit");
            continue;
        }
        if (!input.type().tensor_type().has_shape())
            continue;
        auto* shape = input.mutable_type()->mutable_tensor_type()->mutable_shape();
        if (shape->dim_size() > 0 && !shape->dim(0).has_dim_value() &&
            !settings.values.contains(input.name()))
            shape->mutable_dim(0)->set_dim_value(1);
    }
    if (is_other)
        forget_shapes(model);
}

void set_inputs(onnx::ModelProto& model, const InputSettings& settings, const std::string& path) {
    check_input_names(model, settings.values, "--set-input", path);
    auto& inputs = *model.mutable_graph()->mutable_input();
    auto& constants = *model.mutable_graph()->mutable_initializer();
    for (const auto& [name, text] : settings.values)
        for (int index = inputs.size() - 1; index >= 0; --index) {
            if (inputs[index].name() != name)
                continue;
            onnx::TensorProto constant = Freezer(inputs[index], text).constant();
            for (int other = constants.size() - 1; other >= 0; --other)
                if (constants[other].name() == name) // the input's default
                    constants.DeleteSubrange(other, 1);
            *constants.Add() = std::move(constant);
            inputs.DeleteSubrange(index, 1);
        }
    if (!settings.values.empty() && model.ir_version() < 4)
        model.set_ir_version(4); // before, each constant had to be an input too
}

void check_input_shapes(const onnx::ModelProto& model, const std::string& path) {
    const std::set<std::string> constants = initializers_of(model);
    std::vector<std::string> missing, options;
    for (const auto& input : model.graph().input()) {
        const auto& type = input.type().tensor_type();
        if (constants.contains(input.name()) || !input.type().has_tensor_type())
            continue;
        std::string open;
        bool is_empty = false;
        for (int axis = 0; axis < type.shape().dim_size(); ++axis) {
            const auto& size = type.shape().dim(axis);
            is_empty = is_empty || (size.has_dim_value() && size.dim_value() < 1);
            if (!size.has_dim_value())
                open += (open.empty() ? "" : ", ") + std::to_string(axis);
        }
        if (is_empty)
            throw CompileError(path, "input '" + input.name() +
                                         "' is empty: a dimension of its shape is less than 1; "
                                         "export the model with the shape that it gets");
        if (type.has_shape() && open.empty())
            continue;
        missing.push_back("input '" + input.name() + "' has no static shape" +
                          (type.has_shape() ? " (it leaves axis " + open + " open)" : ""));
        options.push_back("--input-shape " + input.name() + "=" +
                          (type.has_shape() ? to_text(type.shape()) : "..."));
    }
    if (missing.empty())
        return;
    std::string text = missing[0], remedy = options[0];
    for (std::size_t index = 1; index < missing.size(); ++index) {
        text += ", " + missing[index];
        remedy += " " + options[index];
    }
    throw CompileError(path, text + "; give " + (missing.size() == 1 ? "one" : "them") + " with " +
                                 remedy);
}

} // namespace overtake::compiler
