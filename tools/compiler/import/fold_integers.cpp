// SPDX-License-Identifier: MIT
#include "compiler/import/fold_integers.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/import/attributes.hpp"

namespace overtake::compiler {

namespace {

using Integer = std::int64_t;
using Result = std::optional<Integer>; // none if 64 bits do not hold it
using Function = Result (*)(Integer, Integer);

Result sum(Integer a, Integer b) {
    Integer result;
    return __builtin_add_overflow(a, b, &result) ? Result() : result;
}

Result difference(Integer a, Integer b) {
    Integer result;
    return __builtin_sub_overflow(a, b, &result) ? Result() : result;
}

Result product(Integer a, Integer b) {
    Integer result;
    return __builtin_mul_overflow(a, b, &result) ? Result() : result;
}

bool divides(Integer a, Integer b) {
    return b != 0 && !(a == std::numeric_limits<Integer>::min() && b == -1);
}

Result quotient(Integer a, Integer b) {
    return divides(a, b) ? Result(a / b) : Result();
}

// Returns the remainder with the sign of the dividend.
Result remainder_of(Integer a, Integer b) {
    return divides(a, b) ? Result(a % b) : Result();
}

// Returns the remainder with the sign of the divisor.
Result modulo(Integer a, Integer b) {
    if (!divides(a, b))
        return std::nullopt;
    const Integer rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

Result greatest(Integer a, Integer b) {
    return std::max(a, b);
}

Result least(Integer a, Integer b) {
    return std::min(a, b);
}

const std::map<std::string, Function> binary_functions = {
    {"Add", sum},
    {"Sub", difference},
    {"Mul", product},
    {"Div", quotient},
    {"Mod", modulo},
    {"Equal", [](Integer a, Integer b) { return Result(a == b); }},
    {"Less", [](Integer a, Integer b) { return Result(a < b); }},
    {"LessOrEqual", [](Integer a, Integer b) { return Result(a <= b); }},
    {"Greater", [](Integer a, Integer b) { return Result(a > b); }},
    {"GreaterOrEqual", [](Integer a, Integer b) { return Result(a >= b); }},
    {"And", [](Integer a, Integer b) { return Result(a != 0 && b != 0); }},
    {"Or", [](Integer a, Integer b) { return Result(a != 0 || b != 0); }},
    {"Xor", [](Integer a, Integer b) { return Result((a != 0) != (b != 0)); }},
};

const std::map<std::string, std::pair<Function, Integer>> reductions = {
    {"ReduceSum", {sum, 0}},
    {"ReduceProd", {product, 1}},
    {"ReduceMax", {greatest, std::numeric_limits<Integer>::min()}},
    {"ReduceMin", {least, std::numeric_limits<Integer>::max()}},
};

int type_of_output(const Context& context) {
    const auto found = context.types.find(context.node->output(0));
    return found != context.types.end() ? found->second : int{onnx::TensorProto::INT64};
}

Integer as_type(Integer value, int type) {
    switch (type) {
    case onnx::TensorProto::BOOL:
        return value != 0;
    case onnx::TensorProto::INT8:
        return static_cast<std::int8_t>(value);
    case onnx::TensorProto::UINT8:
        return static_cast<std::uint8_t>(value);
    case onnx::TensorProto::INT16:
        return static_cast<std::int16_t>(value);
    case onnx::TensorProto::UINT16:
        return static_cast<std::uint16_t>(value);
    case onnx::TensorProto::INT32:
        return static_cast<std::int32_t>(value);
    case onnx::TensorProto::UINT32:
        return static_cast<std::uint32_t>(value);
    default:
        return value;
    }
}

bool is_integer_type(Integer type) {
    switch (type) {
    case onnx::TensorProto::BOOL:
    case onnx::TensorProto::INT8:
    case onnx::TensorProto::UINT8:
    case onnx::TensorProto::INT16:
    case onnx::TensorProto::UINT16:
    case onnx::TensorProto::INT32:
    case onnx::TensorProto::UINT32:
    case onnx::TensorProto::INT64:
        return true;
    default:
        return false;
    }
}

Integer checked(const Context& context, Result result) {
    if (!result || as_type(*result, type_of_output(context)) != *result)
        refuse(context, "its result does not fit the integer type that it has, or is divided by 0");
    return *result;
}

// Returns the index of the element of `from` that broadcasts to this element of `shape`.
std::size_t broadcast_index(std::size_t index, const Shape& shape, const Shape& from) {
    std::size_t result = 0, step = 1;
    for (std::size_t axis = 0; axis < from.size(); ++axis) {
        const auto size = static_cast<std::size_t>(from[from.size() - 1 - axis]);
        const auto length = static_cast<std::size_t>(shape[shape.size() - 1 - axis]);
        result += size == 1 ? 0 : index % length * step;
        step *= size;
        index /= length;
    }
    return result;
}

// Returns a constant of the shape; a file of a few bytes may ask for `most` elements.
Constant blank(const Context& context, const Shape& shape) {
    constexpr std::size_t most = std::size_t{1} << 24;
    std::size_t allowed = most;
    for (const std::string& name : context.node->input())
        if (const auto found = context.constants.find(name); found != context.constants.end())
            allowed += element_count(found->second.shape);
    check_size(context, context.node->output(0), shape);
    if (element_count(shape) > allowed)
        refuse(context, "gives a huge constant, of shape " + to_text(shape));
    Constant constant;
    constant.shape = shape;
    constant.integers.resize(element_count(shape));
    return constant;
}

Constant fold_binary(const Context& context, Function function) {
    const Constant &a = constant_input(context, 0), &b = constant_input(context, 1);
    Constant result = blank(context, broadcast_shape(context, a.shape, b.shape));
    for (std::size_t index = 0; index < result.integers.size(); ++index)
        result.integers[index] =
            checked(context, function(a.integers[broadcast_index(index, result.shape, a.shape)],
                                      b.integers[broadcast_index(index, result.shape, b.shape)]));
    return result;
}

Constant fold_where(const Context& context) {
    const Constant &condition = constant_input(context, 0), &a = constant_input(context, 1),
                   &b = constant_input(context, 2);
    const Shape shape = broadcast_shape(context, condition.shape, a.shape);
    Constant result = blank(context, broadcast_shape(context, shape, b.shape));
    for (std::size_t index = 0; index < result.integers.size(); ++index) {
        const bool is_first =
            condition.integers[broadcast_index(index, result.shape, condition.shape)] != 0;
        const Constant& chosen = is_first ? a : b;
        result.integers[index] =
            chosen.integers[broadcast_index(index, result.shape, chosen.shape)];
    }
    return result;
}

Constant fold_reduction(const Context& context, Function function, Integer first) {
    const Constant& input = constant_input(context, 0);
    const auto axes = reduced_axes(context, input.shape.size());
    Shape kept = input.shape;
    for (const Integer axis : axes)
        kept[static_cast<std::size_t>(axis)] = 1;
    Constant result = blank(context, reduced_shape(context, input.shape, axes));
    std::ranges::fill(result.integers, first);
    for (std::size_t index = 0; index < input.integers.size(); ++index) {
        Integer& into = result.integers[broadcast_index(index, input.shape, kept)];
        into = checked(context, function(into, input.integers[index]));
    }
    return result;
}

Constant fold_unary(const Context& context, const std::string& type) {
    Constant result = constant_input(context, 0);
    const auto to = static_cast<int>(Attributes(*context.node).integer("to", 0));
    for (Integer& integer : result.integers)
        if (type == "Cast")
            integer = as_type(integer, to);
        else if (type == "Not")
            integer = integer == 0;
        else
            integer = checked(context, type == "Neg" || integer < 0 ? difference(0, integer)
                                                                    : Result(integer));
    return result;
}

bool has_integers_only(const Context& context) {
    for (int index = 0; index < context.node->input_size(); ++index)
        if (has_input(context, index) && constant_input(context, index).integers.empty())
            return false;
    return true;
}

std::optional<Constant> folded(const Context& context) {
    const std::string& type = context.node->op_type();
    if (const auto reduction = reductions.find(type); reduction != reductions.end())
        return fold_reduction(context, reduction->second.first, reduction->second.second);
    if (type == "Mod" && Attributes(*context.node).integer("fmod", 0) != 0)
        return fold_binary(context, remainder_of);
    if (const auto binary = binary_functions.find(type); binary != binary_functions.end())
        return fold_binary(context, binary->second);
    if (type == "Where")
        return fold_where(context);
    if (type == "Not" || type == "Neg" || type == "Abs" ||
        (type == "Cast" && is_integer_type(Attributes(*context.node).integer("to", 0))))
        return fold_unary(context, type);
    return std::nullopt;
}

} // namespace

bool fold_integers(Context& context) {
    if (!has_integers_only(context))
        return false;
    std::optional<Constant> result = folded(context);
    if (result)
        context.constants[context.node->output(0)] = std::move(*result);
    return result.has_value();
}

} // namespace overtake::compiler
