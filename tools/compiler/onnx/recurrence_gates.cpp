// SPDX-License-Identifier: MIT
#include "compiler/onnx/recurrence_gates.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <map>

#include "compiler/onnx/rewrite.hpp"

namespace overtake::compiler {
namespace {

// Functions by their names in small letters: some exporters write "sigmoid".
const GateFunction& known_function(std::string name) {
    static const std::map<std::string, GateFunction> functions = {
        {"relu", {"Relu"}},
        {"tanh", {"Tanh"}},
        {"sigmoid", {"Sigmoid"}},
        {"leakyrelu", {"LeakyRelu", true, false, 0.01f, 0}},
        {"thresholdedrelu", {"ThresholdedRelu", true, false, 1, 0}},
        {"hardsigmoid", {"HardSigmoid", true, true, 0.2f, 0.5f}},
        {"elu", {"Elu", true, false, 1, 0}},
        {"softsign", {"Softsign"}},
        {"softplus", {"Softplus"}},
    };
    std::string lower = name;
    std::ranges::transform(lower, lower.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const auto found = functions.find(lower);
    if (found == functions.end())
        throw CannotRewrite{"its activation '" + name + "' is not supported"};
    return found->second;
}

std::vector<std::string> names_in(const onnx::NodeProto& node) {
    for (const auto& attribute : node.attribute())
        if (attribute.name() == "activations")
            return {attribute.strings().begin(), attribute.strings().end()};
    return {};
}

} // namespace

const RecurrenceKind* recurrence_kind(const std::string& type) {
    static const std::map<std::string, RecurrenceKind> kinds = {
        {"RNN", {1, 1}}, {"GRU", {3, 2}}, {"LSTM", {4, 3}}};
    const auto found = kinds.find(type);
    return found == kinds.end() ? nullptr : &found->second;
}

std::vector<GateFunction> gate_functions(const onnx::NodeProto& node, std::int64_t directions) {
    const auto of_one = static_cast<std::size_t>(recurrence_kind(node.op_type())->functions);
    const std::size_t count = of_one * static_cast<std::size_t>(directions);
    std::vector<std::string> names = names_in(node);
    if (names.empty())
        for (std::size_t index = 0; index < count; ++index)
            names.push_back(index % of_one == 0 && of_one > 1 ? "Sigmoid" : "Tanh");
    if (names.size() != count)
        throw CannotRewrite{"its activations are not " + std::to_string(count)};
    const Attributes attributes(node);
    const std::vector<float> alphas = attributes.reals("activation_alpha"),
                             betas = attributes.reals("activation_beta");
    // Alphas and betas are those of the functions that have them, in order.
    std::size_t next_alpha = 0, next_beta = 0;
    std::vector<GateFunction> functions;
    for (const std::string& name : names) {
        GateFunction function = known_function(name);
        if (function.has_alpha && next_alpha < alphas.size())
            function.alpha = alphas[next_alpha++];
        if (function.has_beta && next_beta < betas.size())
            function.beta = betas[next_beta++];
        functions.push_back(function);
    }
    return functions;
}

} // namespace overtake::compiler
