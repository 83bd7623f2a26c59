// SPDX-License-Identifier: MIT
#include "compiler/import/cpu/functions.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "cpu/operation.hpp"

namespace overtake::compiler {

using cpu::Binary;
using cpu::Unary;

namespace {

const std::map<std::string, Unary>& plain_unaries() {
    static const std::map<std::string, Unary> table = {
        {"Abs", Unary::absolute},
        {"Acos", Unary::arc_cosine},
        {"Acosh", Unary::area_cosine},
        {"Asin", Unary::arc_sine},
        {"Asinh", Unary::area_sine},
        {"Atan", Unary::arc_tangent},
        {"Atanh", Unary::area_tangent},
        {"Ceil", Unary::ceiling},
        {"Cos", Unary::cosine},
        {"Cosh", Unary::cosine_hyperbolic},
        {"Erf", Unary::error_function},
        {"Exp", Unary::exponential},
        {"Floor", Unary::floor},
        {"HardSwish", Unary::hard_swish},
        {"IsNaN", Unary::is_nan},
        {"Log", Unary::logarithm},
        {"Neg", Unary::negate},
        {"Not", Unary::logical_not},
        {"Reciprocal", Unary::reciprocal},
        {"Relu", Unary::relu},
        {"Round", Unary::round},
        {"Sigmoid", Unary::sigmoid},
        {"Sign", Unary::sign},
        {"Sin", Unary::sine},
        {"Sinh", Unary::sine_hyperbolic},
        {"Softplus", Unary::softplus},
        {"Softsign", Unary::softsign},
        {"Sqrt", Unary::square_root},
        {"Tan", Unary::tangent},
        {"Tanh", Unary::tangent_hyperbolic},
    };
    return table;
}

const std::map<std::string, Binary>& binaries() {
    static const std::map<std::string, Binary> table = {
        {"Add", Binary::add},
        {"And", Binary::logical_and},
        {"Div", Binary::divide},
        {"Equal", Binary::equal},
        {"Greater", Binary::greater},
        {"GreaterOrEqual", Binary::greater_or_equal},
        {"Less", Binary::less},
        {"LessOrEqual", Binary::less_or_equal},
        {"Max", Binary::maximum},
        {"Min", Binary::minimum},
        {"Mul", Binary::multiply},
        {"Or", Binary::logical_or},
        {"PRelu", Binary::parametric_relu},
        {"Pow", Binary::power},
        {"Sub", Binary::subtract},
        {"Sum", Binary::add},
        {"Xor", Binary::logical_xor},
    };
    return table;
}

} // namespace

bool gives_truth(const std::string& type) {
    static const char* const types[] = {"And",   "Equal", "Greater", "GreaterOrEqual",
                                        "IsInf", "IsNaN", "Less",    "LessOrEqual",
                                        "Not",   "Or",    "Xor"};
    return std::ranges::find(types, type) != std::end(types);
}

std::optional<UnaryForm> unary_form(const onnx::NodeProto& node) {
    const Attributes attributes(node);
    const std::string& type = node.op_type();
    if (const auto found = plain_unaries().find(type); found != plain_unaries().end())
        return UnaryForm{found->second, {}};
    if (type == "IsInf")
        return UnaryForm{Unary::is_infinite,
                         {attributes.integer("detect_negative", 1) != 0 ? 0.0f : 1.0f,
                          attributes.integer("detect_positive", 1) != 0 ? 0.0f : 1.0f}};
    if (type == "LeakyRelu")
        return UnaryForm{Unary::leaky_relu, {attributes.real("alpha", 0.01f)}};
    if (type == "Elu")
        return UnaryForm{Unary::elu, {attributes.real("alpha", 1.0f)}};
    if (type == "Celu")
        return UnaryForm{Unary::celu, {attributes.real("alpha", 1.0f)}};
    if (type == "Selu")
        return UnaryForm{
            Unary::selu,
            {attributes.real("alpha", 1.67326319f), attributes.real("gamma", 1.05070102f)}};
    if (type == "HardSigmoid")
        return UnaryForm{Unary::hard_sigmoid,
                         {attributes.real("alpha", 0.2f), attributes.real("beta", 0.5f)}};
    if (type == "ThresholdedRelu")
        return UnaryForm{Unary::thresholded_relu, {attributes.real("alpha", 1.0f)}};
    if (type == "Shrink")
        return UnaryForm{Unary::shrink,
                         {attributes.real("lambd", 0.5f), attributes.real("bias", 0.0f)}};
    return std::nullopt;
}

std::optional<Binary> binary_form(const onnx::NodeProto& node, bool of_integers) {
    const std::string& type = node.op_type();
    if (type == "Div" && of_integers)
        return Binary::integer_divide;
    if (type == "Mod")
        return Attributes(node).integer("fmod", 0) != 0 ? Binary::floating_modulo : Binary::modulo;
    const auto found = binaries().find(type);
    return found == binaries().end() ? std::nullopt : std::optional(found->second);
}

} // namespace overtake::compiler
