// SPDX-License-Identifier: MIT
//
// Operators of one element, of two, and of three (Select).
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "cpu/table.hpp"

namespace overtake::cpu {

namespace {

using Function = std::function<float(float)>;

float sigmoid(float x) {
    return 1.0f / (1.0f + std::exp(-x));
}

float softplus(float x) {
    return x > 20 ? x : std::log1p(std::exp(x));
}

float sign(float x) {
    return static_cast<float>((x > 0) - (x < 0));
}

// Those without parameters.
Function plain_function(Unary function) {
    switch (function) {
    case Unary::absolute:
        return [](float x) { return std::abs(x); };
    case Unary::negate:
        return [](float x) { return -x; };
    case Unary::exponential:
        return [](float x) { return std::exp(x); };
    case Unary::logarithm:
        return [](float x) { return std::log(x); };
    case Unary::square_root:
        return [](float x) { return std::sqrt(x); };
    case Unary::reciprocal:
        return [](float x) { return 1.0f / x; };
    case Unary::error_function:
        return [](float x) { return std::erf(x); };
    case Unary::tangent_hyperbolic:
        return [](float x) { return std::tanh(x); };
    case Unary::sigmoid:
        return sigmoid;
    case Unary::floor:
        return [](float x) { return std::floor(x); };
    case Unary::ceiling:
        return [](float x) { return std::ceil(x); };
    case Unary::round:
        return [](float x) { return std::nearbyint(x); };
    case Unary::sign:
        return sign;
    case Unary::sine:
        return [](float x) { return std::sin(x); };
    case Unary::cosine:
        return [](float x) { return std::cos(x); };
    case Unary::tangent:
        return [](float x) { return std::tan(x); };
    case Unary::arc_sine:
        return [](float x) { return std::asin(x); };
    case Unary::arc_cosine:
        return [](float x) { return std::acos(x); };
    case Unary::arc_tangent:
        return [](float x) { return std::atan(x); };
    case Unary::sine_hyperbolic:
        return [](float x) { return std::sinh(x); };
    case Unary::cosine_hyperbolic:
        return [](float x) { return std::cosh(x); };
    case Unary::area_sine:
        return [](float x) { return std::asinh(x); };
    case Unary::area_cosine:
        return [](float x) { return std::acosh(x); };
    case Unary::area_tangent:
        return [](float x) { return std::atanh(x); };
    case Unary::relu:
        return [](float x) { return x < 0 ? 0.0f : x; };
    case Unary::softplus:
        return softplus;
    case Unary::softsign:
        return [](float x) { return x / (1.0f + std::abs(x)); };
    case Unary::hard_swish:
        return [](float x) { return x * std::clamp(x / 6.0f + 0.5f, 0.0f, 1.0f); };
    case Unary::gelu:
        return [](float x) { return 0.5f * x * (1.0f + std::erf(x * 0.70710678f)); };
    case Unary::mish:
        return [](float x) { return x * std::tanh(softplus(x)); };
    case Unary::logical_not:
        return [](float x) { return x == 0 ? 1.0f : 0.0f; };
    case Unary::is_nan:
        return [](float x) { return std::isnan(x) ? 1.0f : 0.0f; };
    case Unary::truncate:
        return [](float x) { return std::trunc(x); };
    case Unary::truth:
        return [](float x) { return x == 0 ? 0.0f : 1.0f; };
    default:
        return [](float x) { return x; };
    }
}

std::string check_unary(const Operation& operation) {
    if (operation.inputs.size() != 1 || operation.integers.size() != 1)
        return "needs one input and one number";
    if (operation.integers[0] < 0 ||
        operation.integers[0] >= static_cast<std::int64_t>(Unary::count))
        return "no such function";
    return elements(operation.inputs[0]) == elements(operation.output)
               ? ""
               : "input and output differ in shape";
}

Kernel make_unary(const Operation& operation) {
    return [function = unary_function(static_cast<Unary>(operation.integers[0]), operation.reals)](
               const Inputs& in, std::span<float> out) {
        for (std::size_t i = 0; i < out.size(); i++)
            out[i] = function(in[0][i]);
    };
}

// Calls visit(offsets of the operands, index of the output) for every element of `shape`.
// `position` has a place for each axis.
template <std::size_t Count, typename Visit>
void for_each_broadcast(const Shape& shape,
                        const std::array<std::vector<std::size_t>, Count>& strides,
                        std::vector<std::uint32_t>& position, Visit visit) {
    std::ranges::fill(position, 0);
    std::array<std::size_t, Count> offsets{};
    const std::size_t count = elements(shape);
    for (std::size_t index = 0; index < count; index++) {
        visit(offsets, index);
        for (std::size_t axis = shape.size(); axis-- > 0;) {
            for (std::size_t operand = 0; operand < Count; operand++)
                offsets[operand] += strides[operand][axis];
            if (++position[axis] < shape[axis])
                break;
            for (std::size_t operand = 0; operand < Count; operand++)
                offsets[operand] -= strides[operand][axis] * shape[axis];
            position[axis] = 0;
        }
    }
}

float truth(bool value) {
    return value ? 1.0f : 0.0f;
}

float modulo(float a, float b) { // of integers, the sign of the divisor
    return b == 0 ? 0.0f : a - b * std::floor(a / b);
}

float apply(Binary function, float a, float b) {
    switch (function) {
    case Binary::add:
        return a + b;
    case Binary::subtract:
        return a - b;
    case Binary::multiply:
        return a * b;
    case Binary::divide:
        return a / b;
    case Binary::power:
        return std::pow(a, b);
    case Binary::maximum:
        return std::isnan(a) || a > b ? a : b;
    case Binary::minimum:
        return std::isnan(a) || a < b ? a : b;
    case Binary::integer_divide:
        return b == 0 ? 0.0f : std::trunc(a / b);
    case Binary::modulo:
        return modulo(a, b);
    case Binary::floating_modulo:
        return std::fmod(a, b);
    case Binary::equal:
        return truth(a == b);
    case Binary::less:
        return truth(a < b);
    case Binary::less_or_equal:
        return truth(a <= b);
    case Binary::greater:
        return truth(a > b);
    case Binary::greater_or_equal:
        return truth(a >= b);
    case Binary::logical_and:
        return truth(a != 0 && b != 0);
    case Binary::logical_or:
        return truth(a != 0 || b != 0);
    case Binary::logical_xor:
        return truth((a != 0) != (b != 0));
    case Binary::parametric_relu:
        return a < 0 ? a * b : a;
    case Binary::count:
        break;
    }
    return 0;
}

// integers: Binary
std::string check_binary(const Operation& operation) {
    if (operation.inputs.size() != 2 || operation.integers.size() != 1)
        return "needs two inputs and one number";
    if (operation.integers[0] < 0 ||
        operation.integers[0] >= static_cast<std::int64_t>(Binary::count))
        return "no such function";
    return broadcast(operation.inputs[0], operation.inputs[1]) == operation.output
               ? ""
               : "shapes do not fit each other";
}

Kernel make_binary(const Operation& operation) {
    const auto function = static_cast<Binary>(operation.integers[0]);
    const std::array strides = {broadcast_strides(operation.inputs[0], operation.output),
                                broadcast_strides(operation.inputs[1], operation.output)};
    return [function, strides, shape = operation.output,
            position = std::vector<std::uint32_t>(operation.output.size())](
               const Inputs& in, std::span<float> out) mutable {
        for_each_broadcast(shape, strides, position, [&](const auto& offsets, std::size_t index) {
            out[index] = apply(function, in[0][offsets[0]], in[1][offsets[1]]);
        });
    };
}

std::string check_select(const Operation& operation) {
    if (operation.inputs.size() != 3)
        return "needs three inputs";
    const Shape values = broadcast(operation.inputs[1], operation.inputs[2]);
    return !values.empty() && broadcast(operation.inputs[0], values) == operation.output
               ? ""
               : "shapes do not fit each other";
}

Kernel make_select(const Operation& operation) {
    const std::array strides = {broadcast_strides(operation.inputs[0], operation.output),
                                broadcast_strides(operation.inputs[1], operation.output),
                                broadcast_strides(operation.inputs[2], operation.output)};
    return [strides, shape = operation.output,
            position = std::vector<std::uint32_t>(operation.output.size())](
               const Inputs& in, std::span<float> out) mutable {
        for_each_broadcast(shape, strides, position, [&](const auto& offsets, std::size_t index) {
            out[index] = in[0][offsets[0]] != 0 ? in[1][offsets[1]] : in[2][offsets[2]];
        });
    };
}

constexpr Entry elementwise_table[] = {
    {CpuOpType::unary, "Unary", check_unary, make_unary},
    {CpuOpType::binary, "Binary", check_binary, make_binary},
    {CpuOpType::select, "Select", check_select, make_select},
};

} // namespace

Function unary_function(Unary function, const std::vector<float>& reals) {
    const float first = reals.size() > 0 ? reals[0] : 0, second = reals.size() > 1 ? reals[1] : 0;
    switch (function) {
    case Unary::clip: // reals: least, greatest
        return [=](float x) { return std::min(std::max(x, first), second); };
    case Unary::is_infinite: // reals: whether it overlooks negative ones, positive ones
        return
            [=](float x) { return std::isinf(x) && (x < 0 ? first : second) == 0 ? 1.0f : 0.0f; };
    case Unary::leaky_relu: // reals: alpha
        return [=](float x) { return x < 0 ? first * x : x; };
    case Unary::elu: // reals: alpha
        return [=](float x) { return x < 0 ? first * std::expm1(x) : x; };
    case Unary::celu: // reals: alpha
        return [=](float x) { return x < 0 ? first * std::expm1(x / first) : x; };
    case Unary::selu: // reals: alpha, gamma
        return [=](float x) { return second * (x < 0 ? first * std::expm1(x) : x); };
    case Unary::hard_sigmoid: // reals: alpha, beta
        return [=](float x) { return std::clamp(first * x + second, 0.0f, 1.0f); };
    case Unary::thresholded_relu: // reals: alpha
        return [=](float x) { return x > first ? x : 0.0f; };
    case Unary::shrink: // reals: lambda, bias
        return [=](float x) { return x < -first ? x + second : x > first ? x - second : 0.0f; };
    default:
        return plain_function(function);
    }
}

std::span<const Entry> elementwise_operators() {
    return elementwise_table;
}

} // namespace overtake::cpu
