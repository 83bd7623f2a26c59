// SPDX-License-Identifier: MIT
//
// Operators on the CPU that work element by element.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "compiler/import/cpu/elements.hpp"
#include "compiler/import/importer.hpp"

namespace overtake::compiler {
namespace {

using cpu::Binary;
using cpu::Unary;

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

bool gives_truth(const std::string& type) {
    static const char* const types[] = {"And",   "Equal", "Greater", "GreaterOrEqual",
                                        "IsInf", "IsNaN", "Less",    "LessOrEqual",
                                        "Not",   "Or",    "Xor"};
    return std::ranges::find(types, type) != std::end(types);
}

} // namespace

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

// An integer again, of what may have become a fraction.
Reference Importer::cpu_truncated(const Reference& input) {
    Reference result = cpu_node(
        {CpuOpType::unary, {static_cast<std::int64_t>(Unary::truncate)}, {}}, {input}, input.shape);
    result.integer = true;
    return result;
}

void Importer::cpu_unary() {
    const Reference input = cpu_input(0);
    const auto form = unary_form(*node_);
    if (!form)
        refuse("the operator is not supported");
    Reference result =
        cpu_node({CpuOpType::unary, {static_cast<std::int64_t>(form->function)}, form->reals},
                 {input}, input.shape);
    result.integer = input.integer || gives_truth(node_->op_type());
    finish_cpu(result);
}

void Importer::cpu_clip() {
    const Reference input = cpu_input(0);
    const auto bound = [&](int index, float otherwise) {
        if (!has_input(index))
            return otherwise;
        const std::vector<float> values = reals_of(constant_input(index));
        if (values.size() != 1)
            refuse("its bounds must be single numbers");
        return values[0];
    };
    const float infinity = std::numeric_limits<float>::infinity();
    Reference result = cpu_node({CpuOpType::unary,
                                 {static_cast<std::int64_t>(Unary::clip)},
                                 {bound(1, -infinity), bound(2, infinity)}},
                                {input}, input.shape);
    result.integer = input.integer;
    finish_cpu(result);
}

void Importer::cpu_cast() {
    const Reference input = cpu_input(0);
    const std::int64_t to = Attributes(*node_).integer("to", onnx::TensorProto::FLOAT);
    if (to == onnx::TensorProto::STRING)
        refuse("text is not supported");
    const bool is_real = to == onnx::TensorProto::FLOAT || to == onnx::TensorProto::DOUBLE ||
                         to == onnx::TensorProto::FLOAT16 || to == onnx::TensorProto::BFLOAT16;
    Unary function = Unary::identity;
    if (to == onnx::TensorProto::BOOL)
        function = Unary::truth;
    else if (!is_real)
        function = Unary::truncate;
    Reference result = input;
    const bool is_whole = function == Unary::truncate && input.integer;
    if (function != Unary::identity && !is_whole)
        result = cpu_node({CpuOpType::unary, {static_cast<std::int64_t>(function)}, {}}, {input},
                          input.shape);
    result.integer = !is_real;
    finish_cpu(result);
}

// Broadcasting as numpy does; Sum, Max and Min take any number, Mean is their sum over it.
void Importer::cpu_binary() {
    Reference result = cpu_input(0);
    const std::string& type = node_->op_type();
    for (int index = 1; index < node_->input_size(); ++index) {
        const Reference right = cpu_input(index);
        const bool is_power = type == "Pow"; // which is of its base's type
        const bool integer = result.integer && (right.integer || is_power);
        const auto form = type == "Mean" ? Binary::add : binary_form(*node_, integer);
        const Shape shape = broadcast_shape(result.shape, right.shape);
        result = cpu_node({CpuOpType::binary, {static_cast<std::int64_t>(*form)}, {}},
                          {result, right}, shape);
        if (integer && is_power)
            result = cpu_truncated(result);
        result.integer = integer || gives_truth(type);
    }
    if (type == "Mean")
        result = cpu_node({CpuOpType::binary, {static_cast<std::int64_t>(Binary::divide)}, {}},
                          {result, cpu_constant({}, {static_cast<float>(node_->input_size())})},
                          result.shape);
    finish_cpu(result);
}

void Importer::cpu_where() {
    const Reference condition = cpu_input(0), left = cpu_input(1), right = cpu_input(2);
    const Shape shape = broadcast_shape(condition.shape, broadcast_shape(left.shape, right.shape));
    Reference result = cpu_node({CpuOpType::select, {}, {}}, {condition, left, right}, shape);
    result.integer = left.integer && right.integer;
    finish_cpu(result);
}

// A scale and an offset for each channel, which is axis 1.
void Importer::cpu_batch_normalization() {
    if (Attributes(*node_).integer("training_mode", 0) != 0 || node_->output_size() > 1)
        refuse("is in training mode; export the model for inference");
    const Reference input = cpu_input(0);
    const auto &scale = float_input(1), &bias = float_input(2), &mean = float_input(3),
               &variance = float_input(4);
    const float epsilon = Attributes(*node_).real("epsilon", 1e-5f);
    Shape shape(input.shape.size(), 1);
    if (shape.size() < 2 || input.shape[1] != static_cast<std::int64_t>(scale.size()) ||
        bias.size() != scale.size() || mean.size() != scale.size() ||
        variance.size() != scale.size())
        refuse("its parameters do not have one element per channel");
    shape[1] = input.shape[1];
    std::vector<float> factor(scale.size()), offset(scale.size());
    for (std::size_t channel = 0; channel < scale.size(); ++channel) {
        factor[channel] = scale[channel] / std::sqrt(variance[channel] + epsilon);
        offset[channel] = bias[channel] - mean[channel] * factor[channel];
    }
    const Reference scaled =
        cpu_node({CpuOpType::binary, {static_cast<std::int64_t>(Binary::multiply)}, {}},
                 {input, cpu_constant(shape, factor)}, input.shape);
    finish_cpu(cpu_node({CpuOpType::binary, {static_cast<std::int64_t>(Binary::add)}, {}},
                        {scaled, cpu_constant(shape, offset)}, input.shape));
}

} // namespace overtake::compiler
