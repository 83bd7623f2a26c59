// SPDX-License-Identifier: MIT
//
// Operators that apply a function to each element.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "cpu/exponential.hpp"
#include "cpu/table.hpp"
#include "cpu/vectors.hpp"

namespace overtake::cpu {

namespace {

using Function = std::function<float(float)>;

float softplus(float x) {
    return x > 20 ? x : std::log1p(std::exp(x));
}

float sign(float x) {
    return static_cast<float>((x > 0) - (x < 0));
}

// Passes a function without parameters to visit().
template <typename Visit>
auto with_plain_function(Unary function, const Visit& visit) {
    switch (function) {
    case Unary::absolute:
        return visit([](float x) { return std::abs(x); });
    case Unary::negate:
        return visit([](float x) { return -x; });
    case Unary::exponential:
        return visit([](float x) { return std::exp(x); });
    case Unary::logarithm:
        return visit([](float x) { return std::log(x); });
    case Unary::square_root:
        return visit([](float x) { return std::sqrt(x); });
    case Unary::reciprocal:
        return visit([](float x) { return 1.0f / x; });
    case Unary::error_function:
        return visit([](float x) { return std::erf(x); });
    case Unary::tangent_hyperbolic:
        return visit([](float x) { return std::tanh(x); });
    case Unary::sigmoid:
        return visit([](float x) { return sigmoid(x); });
    case Unary::floor:
        return visit([](float x) { return std::floor(x); });
    case Unary::ceiling:
        return visit([](float x) { return std::ceil(x); });
    case Unary::round:
        return visit([](float x) { return std::nearbyint(x); });
    case Unary::sign:
        return visit(sign);
    case Unary::sine:
        return visit([](float x) { return std::sin(x); });
    case Unary::cosine:
        return visit([](float x) { return std::cos(x); });
    case Unary::tangent:
        return visit([](float x) { return std::tan(x); });
    case Unary::arc_sine:
        return visit([](float x) { return std::asin(x); });
    case Unary::arc_cosine:
        return visit([](float x) { return std::acos(x); });
    case Unary::arc_tangent:
        return visit([](float x) { return std::atan(x); });
    case Unary::sine_hyperbolic:
        return visit([](float x) { return std::sinh(x); });
    case Unary::cosine_hyperbolic:
        return visit([](float x) { return std::cosh(x); });
    case Unary::area_sine:
        return visit([](float x) { return std::asinh(x); });
    case Unary::area_cosine:
        return visit([](float x) { return std::acosh(x); });
    case Unary::area_tangent:
        return visit([](float x) { return std::atanh(x); });
    case Unary::relu:
        return visit([](float x) { return x < 0 ? 0.0f : x; });
    case Unary::softplus:
        return visit(softplus);
    case Unary::softsign:
        return visit([](float x) { return x / (1.0f + std::abs(x)); });
    case Unary::hard_swish:
        return visit([](float x) { return x * std::clamp(x / 6.0f + 0.5f, 0.0f, 1.0f); });
    case Unary::gelu:
        return visit([](float x) { return 0.5f * x * (1.0f + std::erf(x * 0.70710678f)); });
    case Unary::mish:
        return visit([](float x) { return x * std::tanh(softplus(x)); });
    case Unary::logical_not:
        return visit([](float x) { return x == 0 ? 1.0f : 0.0f; });
    case Unary::is_nan:
        return visit([](float x) { return std::isnan(x) ? 1.0f : 0.0f; });
    case Unary::truncate:
        return visit([](float x) { return std::trunc(x); });
    case Unary::truth:
        return visit([](float x) { return x == 0 ? 0.0f : 1.0f; });
    default:
        return visit([](float x) { return x; });
    }
}

// Passes the function of one element to visit(); `reals` are its parameters, missing ones are 0.
template <typename Visit>
auto with_function(Unary function, const std::vector<float>& reals, const Visit& visit) {
    const float first = reals.size() > 0 ? reals[0] : 0, second = reals.size() > 1 ? reals[1] : 0;
    switch (function) {
    case Unary::clip: // reals: least, greatest
        return visit([=](float x) { return std::min(std::max(x, first), second); });
    case Unary::is_infinite: // reals: whether it ignores negative ones, positive ones
        return visit(
            [=](float x) { return std::isinf(x) && (x < 0 ? first : second) == 0 ? 1.0f : 0.0f; });
    case Unary::leaky_relu: // reals: alpha
        return visit([=](float x) { return x < 0 ? first * x : x; });
    case Unary::elu: // reals: alpha
        return visit([=](float x) { return x < 0 ? first * std::expm1(x) : x; });
    case Unary::celu: // reals: alpha
        return visit([=](float x) { return x < 0 ? first * std::expm1(x / first) : x; });
    case Unary::selu: // reals: alpha, gamma
        return visit([=](float x) { return second * (x < 0 ? first * std::expm1(x) : x); });
    case Unary::hard_sigmoid: // reals: alpha, beta
        return visit([=](float x) { return std::clamp(first * x + second, 0.0f, 1.0f); });
    case Unary::thresholded_relu: // reals: alpha
        return visit([=](float x) { return x > first ? x : 0.0f; });
    case Unary::shrink: // reals: lambda, bias
        return visit([=](float x) {
            return x < -first ? x + second : x > first ? x - second : 0.0f;
        });
    default:
        return with_plain_function(function, visit);
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

// Computes over all values; in blocks also over spare lanes.
Kernel make_unary(const Operation& operation) {
    return with_function(
        static_cast<Unary>(operation.integers[0]), operation.reals, [](auto function) -> Kernel {
            return [function](const Inputs& in, std::span<float> out) {
                with_vectors([from = in[0].data(), to = out.data(), count = out.size(), function] {
                    for (std::size_t i = 0; i < count; i++)
                        to[i] = function(from[i]);
                });
            };
        });
}

Kernel make_blocked_unary(const Operation& operation) {
    return [shape = operation.output, blocks = operation.blocks,
            in_planes = make_unary(operation)](const Inputs& in, std::span<float> out) {
        in_planes(in, out);
        clear_spare_lanes(shape, blocks, out);
    };
}

std::shared_ptr<const Prepared> prepare_unary(const Operation& operation) {
    const auto blocked = static_cast<LayoutNumber>(operation.blocks);
    const double planes_ns =
        operation.costs.elements_ns(elements(operation.output), operation.costs.element);
    if (operation.inputs[0] != operation.output || !can_be_blocked(operation.output))
        return prepare_forms(operation, planes_ns, make_unary);
    const std::size_t stored = stored_elements(operation.output, operation.blocks);
    return prepare_forms(
        operation, planes_ns, make_unary,
        {{blocked}, blocked, operation.costs.elements_ns(stored, operation.costs.element)},
        make_blocked_unary);
}

constexpr Entry unary_table[] = {
    {CpuOpType::unary, "Unary", check_unary, make_unary, prepare_unary},
};

} // namespace

Function unary_function(Unary function, const std::vector<float>& reals) {
    return with_function(function, reals, [](auto made) { return Function(made); });
}

InPlace unary_in_place(Unary function, const std::vector<float>& reals) {
    return with_function(function, reals, [](auto made) -> InPlace {
        return [made](float* values, std::size_t count) {
            with_vectors([values, count, made] {
                for (std::size_t i = 0; i < count; i++)
                    values[i] = made(values[i]);
            });
        };
    });
}

std::span<const Entry> unary_operators() {
    return unary_table;
}

} // namespace overtake::cpu
