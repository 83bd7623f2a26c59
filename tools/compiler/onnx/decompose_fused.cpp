// SPDX-License-Identifier: MIT
//
// Rules for operators that ONNX Runtime's optimiser makes of several (domain com.microsoft).
#include "compiler/onnx/decompose.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <numbers>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace overtake::compiler {
namespace {

// Gives the tensor the name of an output of the node at hand.
void finish(Rewrite& r, const std::string& tensor, int output = 0) {
    r.build.last("Identity", {tensor}, output);
}

std::string sum_of(Rewrite& r, std::string sum, std::initializer_list<int> inputs) {
    for (const int input : inputs)
        if (r.has_input(input))
            sum = r.build("Add", {sum, r.node.input(input)});
    return sum;
}

// x * (1 + f) / 2.
std::string half_of(Rewrite& r, const std::string& x, const std::string& f) {
    return r.build("Mul",
                   {r.build("Mul", {x, r.build.real(0.5f)}), r.build("Add", {f, r.build.real(1)})});
}

std::string gelu_of(Rewrite& r, const std::string& x) {
    return half_of(
        r, x,
        r.build("Erf", {r.build("Mul", {x, r.build.real(1 / std::numbers::sqrt2_v<float>)})}));
}

void gelu(Rewrite& r) {
    finish(r, gelu_of(r, r.node.input(0)));
}

void bias_gelu(Rewrite& r) {
    finish(r, gelu_of(r, sum_of(r, r.node.input(0), {1})));
}

// Writes FastGelu with a hyperbolic tangent.
void fast_gelu(Rewrite& r) {
    const std::string x = sum_of(r, r.node.input(0), {1});
    const std::string cube = r.build("Mul", {r.build("Mul", {x, x}), x});
    const std::string inner = r.build("Add", {x, r.build("Mul", {cube, r.build.real(0.044715f)})});
    const float factor = std::sqrt(2 / std::numbers::pi_v<float>);
    finish(r, half_of(r, x, r.build("Tanh", {r.build("Mul", {inner, r.build.real(factor)})})));
}

void quick_gelu(Rewrite& r) {
    const std::string x = r.node.input(0);
    const std::string alpha = r.build.real(r.attributes().real("alpha", 1.702f));
    finish(r, r.build("Mul", {x, r.build("Sigmoid", {r.build("Mul", {x, alpha})})}));
}

void bias_add(Rewrite& r) {
    finish(r, sum_of(r, r.node.input(0), {1, 2}));
}

// Alpha and beta of an activation; nothing where the node does not give them.
using Parameters = std::array<std::optional<float>, 2>;

// Applies the activation `type` to the tensor.
std::string activated(Rewrite& r, const std::string& type, const Parameters& parameters,
                      const std::string& tensor) {
    static const std::map<std::string, std::vector<const char*>> names = {
        {"Relu", {}},
        {"Tanh", {}},
        {"Sigmoid", {}},
        {"Softplus", {}},
        {"Softsign", {}},
        {"Elu", {"alpha"}},
        {"LeakyRelu", {"alpha"}},
        {"ThresholdedRelu", {"alpha"}},
        {"HardSigmoid", {"alpha", "beta"}},
    };
    if (type.empty())
        return tensor;
    if (type == "Clip" && parameters[0] && parameters[1])
        return r.build(type, {tensor, r.build.real(*parameters[0]), r.build.real(*parameters[1])});
    const auto known = names.find(type);
    if (known == names.end())
        throw CannotRewrite{
            "its activation is '" + type +
            "'; Relu, Tanh, Sigmoid, Softplus, Softsign, Elu, LeakyRelu, "
            "ThresholdedRelu, HardSigmoid, and Clip with both bounds are supported"};
    onnx::NodeProto& made = r.build.node(type, {tensor});
    for (std::size_t index = 0; index < known->second.size(); ++index)
        if (parameters[index])
            set_real(made, known->second[index], *parameters[index]);
    return made.output(0);
}

// Adds a node of ONNX's operator with the first inputs and all attributes but those of the
// activation.
std::string without_activation(Rewrite& r, const char* type, int inputs) {
    std::vector<std::string> names;
    for (int input = 0; input < inputs && input < r.node.input_size(); ++input)
        names.push_back(r.node.input(input));
    while (!names.empty() && names.back().empty())
        names.pop_back();
    onnx::NodeProto& made = r.build.node(type, names);
    for (const auto& attribute : r.node.attribute())
        if (!attribute.name().starts_with("activation"))
            *made.add_attribute() = attribute;
    return made.output(0);
}

void fused_convolution(Rewrite& r) {
    const std::string sum = sum_of(r, without_activation(r, "Conv", 3), {3});
    const std::vector<float> given = r.attributes().reals("activation_params");
    Parameters parameters;
    for (std::size_t index = 0; index < std::min(given.size(), parameters.size()); ++index)
        parameters[index] = given[index];
    finish(r, activated(r, r.attributes().text("activation", ""), parameters, sum));
}

void fused_gemm(Rewrite& r) {
    const std::string product = without_activation(r, "Gemm", 3);
    Parameters parameters;
    if (r.attributes().has("activation_alpha"))
        parameters[0] = r.attributes().real("activation_alpha", 0);
    if (r.attributes().has("activation_beta"))
        parameters[1] = r.attributes().real("activation_beta", 0);
    finish(r, activated(r, r.attributes().text("activation", ""), parameters, product));
}

// Exchanges the last two axes if the attribute is set; vectors stay.
std::string transposed_if(Rewrite& r, const char* attribute, const std::string& tensor) {
    const std::size_t rank = r.rank(tensor);
    if (r.attributes().integer(attribute, 0) == 0 || rank < 2)
        return tensor;
    std::vector<std::int64_t> order(rank);
    std::iota(order.begin(), order.end(), 0);
    std::swap(order[rank - 2], order[rank - 1]);
    return r.build.transposed(tensor, order);
}

void fused_matmul(Rewrite& r) {
    for (const char* name : {"transBatchA", "transBatchB"})
        if (r.attributes().integer(name, 0) != 0)
            throw CannotRewrite{std::string("its ") + name +
                                " is 1; export the model without that optimisation"};
    const std::string product = r.build("MatMul", {transposed_if(r, "transA", r.node.input(0)),
                                                   transposed_if(r, "transB", r.node.input(1))});
    const float alpha = r.attributes().real("alpha", 1);
    finish(r, alpha == 1 ? product : r.build("Mul", {product, r.build.real(alpha)}));
}

void refuse_training(const Rewrite& r) {
    for (const int output : {1, 2})
        if (r.has_output(output))
            throw CannotRewrite{"its mean or deviation is read, which is for training"};
}

// Normalises the sum of its inputs, which is its fourth output.
void skip_layer_normalization(Rewrite& r) {
    refuse_training(r);
    const std::string sum = sum_of(r, r.node.input(0), {1, 4});
    std::vector<std::string> inputs = {sum, r.node.input(2)};
    if (r.has_input(3))
        inputs.push_back(r.node.input(3));
    const float epsilon = r.attributes().real("epsilon", 1e-12f);
    onnx::NodeProto& made = r.build.last("LayerNormalization", inputs);
    set_integer(made, "axis", -1);
    set_real(made, "epsilon", epsilon);
    if (r.has_output(3))
        finish(r, sum, 3);
}

// Divides by the root of the mean square, and scales.
std::string root_mean_square(Rewrite& r, const std::string& x, const std::string& scale,
                             const std::vector<std::int64_t>& axes, float epsilon) {
    onnx::NodeProto& mean = r.build.node("ReduceMean", {r.build("Mul", {x, x})});
    set_integers(mean, "axes", axes);
    const std::string square = mean.output(0);
    const std::string root = r.build("Sqrt", {r.build("Add", {square, r.build.real(epsilon)})});
    return r.build("Mul", {r.build("Div", {x, root}), scale});
}

// Normalises the sum of its inputs without a mean.
void skip_root_mean_square(Rewrite& r) {
    refuse_training(r);
    const std::string sum = sum_of(r, r.node.input(0), {1, 3});
    finish(r,
           root_mean_square(r, sum, r.node.input(2), {-1}, r.attributes().real("epsilon", 1e-12f)));
    if (r.has_output(3))
        finish(r, sum, 3);
}

// Writes LayerNormalization in ONNX's form since opset 17.
void layer_normalization_of_old(Rewrite& r) {
    refuse_training(r);
    std::vector<std::string> inputs = {r.node.input(0), r.node.input(1)};
    if (r.has_input(2))
        inputs.push_back(r.node.input(2));
    *r.build.last("LayerNormalization", inputs).mutable_attribute() = r.node.attribute();
}

void root_mean_square_of_old(Rewrite& r) {
    if (r.has_output(1))
        throw CannotRewrite{"its deviation is read, which is for training"};
    const auto rank = static_cast<std::int64_t>(r.rank(r.node.input(0)));
    std::vector<std::int64_t> axes =
        r.axes_in(r.rank(r.node.input(0)), {r.attributes().integer("axis", -1)});
    while (axes.back() + 1 < rank)
        axes.push_back(axes.back() + 1);
    finish(r, root_mean_square(r, r.node.input(0), r.node.input(1), axes,
                               r.attributes().real("epsilon", 1e-5f)));
}

// Returns the constant of integers `input` as the reals that they stand for; its scale and zero
// point get `shape`.
std::string dequantised(Rewrite& r, int input, int scale, int zero_point,
                        const std::vector<std::int64_t>& shape) {
    const auto real_of = [&](int number, bool has_shape) {
        const std::string real = r.build.cast(r.node.input(number), onnx::TensorProto::FLOAT);
        return has_shape ? r.build.reshaped(real, shape) : real;
    };
    std::string value = real_of(input, false);
    if (r.has_input(zero_point))
        value = r.build("Sub", {value, real_of(zero_point, !shape.empty())});
    return r.build("Mul", {value, real_of(scale, !shape.empty())});
}

void dynamic_matmul(Rewrite& r) {
    const std::string product = r.build("MatMul", {r.node.input(0), dequantised(r, 1, 2, 3, {})});
    finish(r, sum_of(r, product, {4}));
}

// Writes DynamicQuantizeLSTM as LSTM.  Its weights have the gates last, with one scale for each
// direction or for each gate of a direction.
void dynamic_lstm(Rewrite& r) {
    for (const int input : {1, 2, 8, 10})
        if (!r.has_input(input))
            throw CannotRewrite{"it lacks weights, or their scales; is the file damaged?"};
    const std::vector<std::int64_t> scales = r.shape(r.node.input(8));
    if (scales.empty() || scales.size() > 2)
        throw CannotRewrite{"its scales are neither one for each direction nor one for each gate"};
    const std::vector<std::int64_t> shape = {scales[0], 1, scales.size() == 1 ? 1 : scales[1]};
    const auto weights = [&](int input, int scale) {
        return r.build.transposed(dequantised(r, input, scale, scale + 1, shape), {0, 2, 1});
    };
    std::vector<std::string> inputs = {r.node.input(0), weights(1, 8), weights(2, 10)};
    for (int input = 3; input < 8; ++input)
        inputs.push_back(r.node.input(input));
    while (inputs.back().empty())
        inputs.pop_back();
    onnx::NodeProto& made = r.build.last("LSTM", inputs);
    *made.mutable_attribute() = r.node.attribute();
    for (int output = 1; output < r.node.output_size(); ++output)
        made.add_output(r.node.output(output));
}

// Checks types of attributes: one of another type would be read as 0.
void check_attribute_types(const onnx::NodeProto& node) {
    using Type = onnx::AttributeProto;
    static const std::map<std::string, Type::AttributeType> types = {
        {"activation", Type::STRING},
        {"activation_alpha", Type::FLOAT},
        {"activation_beta", Type::FLOAT},
        {"activation_params", Type::FLOATS},
        {"activations", Type::STRINGS},
        {"alpha", Type::FLOAT},
        {"auto_pad", Type::STRING},
        {"axis", Type::INT},
        {"beta", Type::FLOAT},
        {"clip", Type::FLOAT},
        {"dilations", Type::INTS},
        {"direction", Type::STRING},
        {"epsilon", Type::FLOAT},
        {"group", Type::INT},
        {"hidden_size", Type::INT},
        {"input_forget", Type::INT},
        {"kernel_shape", Type::INTS},
        {"pads", Type::INTS},
        {"strides", Type::INTS},
        {"transA", Type::INT},
        {"transB", Type::INT},
        {"transBatchA", Type::INT},
        {"transBatchB", Type::INT},
    };
    const bool is_recurrent = node.op_type() == "DynamicQuantizeLSTM"; // has lists of them
    for (const auto& attribute : node.attribute())
        if (const auto wanted = types.find(attribute.name());
            wanted != types.end() && attribute.type() != wanted->second &&
            !(is_recurrent && attribute.name().starts_with("activation_")))
            throw CannotRewrite{"its " + attribute.name() + " is of type " +
                                Type::AttributeType_Name(attribute.type()) + ", not " +
                                Type::AttributeType_Name(wanted->second)};
}

// Applies a rule to a node that has its inputs: libonnx does not check these operators.
template <RewriteRule Rule, int Inputs>
void with(Rewrite& r) {
    for (int input = 0; input < Inputs; ++input)
        if (!r.has_input(input))
            throw CannotRewrite{"it has no input " + std::to_string(input) + ", and needs " +
                                std::to_string(Inputs)};
    if (!r.has_output(0))
        throw CannotRewrite{"its first output has no name"};
    check_attribute_types(r.node);
    Rule(r);
}

} // namespace

const RewriteRules& fused_operators() {
    static const RewriteRules table = {
        {"BiasAdd", with<bias_add, 3>},
        {"BiasGelu", with<bias_gelu, 2>},
        {"DynamicQuantizeLSTM", with<dynamic_lstm, 3>},
        {"DynamicQuantizeMatMul", with<dynamic_matmul, 3>},
        {"FastGelu", with<fast_gelu, 1>},
        {"FusedConv", with<fused_convolution, 2>},
        {"FusedGemm", with<fused_gemm, 2>},
        {"FusedMatMul", with<fused_matmul, 2>},
        {"Gelu", with<gelu, 1>},
        {"LayerNormalization", with<layer_normalization_of_old, 2>},
        {"QuickGelu", with<quick_gelu, 1>},
        {"SimplifiedLayerNormalization", with<root_mean_square_of_old, 2>},
        {"SkipLayerNormalization", with<skip_layer_normalization, 3>},
        {"SkipSimplifiedLayerNormalization", with<skip_root_mean_square, 3>},
    };
    return table;
}

} // namespace overtake::compiler
