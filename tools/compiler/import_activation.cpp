// SPDX-License-Identifier: MIT
//
// Functions of one element, and Softmax.
#include "importer.hpp"

#include <algorithm>
#include <cmath>

namespace overtake::compiler {

void Importer::relu() {
    const Reference input = variable_input(0);
    Node node = new_node(Operator::activation);
    node.clamp_low = 0.0f;
    finish_like(input, std::move(node));
}

void Importer::clip() {
    const Reference input = variable_input(0);
    Node node = new_node(Operator::activation);
    if (has_input(1) && float_input(1).size() == 1)
        node.clamp_low = float_input(1)[0];
    if (has_input(2) && float_input(2).size() == 1)
        node.clamp_high = float_input(2)[0];
    if (!(node.clamp_low <= node.clamp_high))
        refuse("its minimum is not below its maximum");
    finish_like(input, std::move(node));
}

void Importer::function() {
    const Reference input = variable_input(0);
    const Attributes attributes(*node_);
    const std::string& type = node_->op_type();
    Node node = new_node(Operator::activation);
    if (type == "Sigmoid") {
        node.function = [](float x) { return 1.0f / (1.0f + std::exp(-x)); };
    } else if (type == "Tanh") {
        node.function = [](float x) { return std::tanh(x); };
    } else if (type == "HardSwish") {
        node.function = [](float x) { return x * std::clamp(x / 6.0f + 0.5f, 0.0f, 1.0f); };
    } else if (type == "HardSigmoid") {
        const float alpha = attributes.real("alpha", 0.2f), beta = attributes.real("beta", 0.5f);
        node.function = [=](float x) { return std::clamp(alpha * x + beta, 0.0f, 1.0f); };
    } else if (type == "Elu") {
        const float alpha = attributes.real("alpha", 1.0f);
        node.function = [=](float x) { return x < 0 ? alpha * std::expm1(x) : x; };
    } else {
        const float alpha = attributes.real("alpha", 0.01f); // LeakyRelu
        node.function = [=](float x) { return x < 0 ? alpha * x : x; };
    }
    finish_like(input, std::move(node));
}

void Importer::softmax() {
    const Reference input = variable_input(0);
    Node node = new_node(Operator::softmax);
    std::int64_t axis = Attributes(*node_).integer("axis", -1);
    const auto rank = static_cast<std::int64_t>(input.shape.size());
    axis += axis < 0 ? rank : 0;
    if (axis < 1 || axis >= rank)
        refuse("its axis lies outside the tensor");
    if (rank == 2 && input.shape[1] != value_of(input).channels)
        refuse("over flattened features is not supported");
    node.axis = static_cast<int>(axis);
    finish_like(input, std::move(node));
}

} // namespace overtake::compiler
