// SPDX-License-Identifier: MIT
//
// Gemm and MatMul with a constant matrix.
#include "importer.hpp"

#include "overtake_isa.h"

namespace overtake::compiler {

// `weights` are (outputs, features): a convolution whose kernel covers its whole input, so
// flattened features need no data movement and keep ONNX's order of weights.
void Importer::add_fully_connected(std::vector<float> weights, std::vector<float> bias) {
    const Reference input = variable_input(0);
    const Value& data = value_of(input);
    if (data.elements() > OVERTAKE_MAX_KERNEL_ELEMENTS || data.height > max_window ||
        data.width > max_window)
        refuse("has more than " + std::to_string(OVERTAKE_MAX_KERNEL_ELEMENTS) + " features");
    Node node = new_node(Operator::convolution);
    node.window.kernel_height = data.height;
    node.window.kernel_width = data.width;
    node.weights = std::move(weights);
    node.bias = std::move(bias);
    node.inputs = {input.value};
    const auto outputs = static_cast<std::int64_t>(node.bias.size());
    finish(std::move(node), add_value(node_->output(0), {1, outputs}));
}

void Importer::gemm() {
    const Attributes attributes(*node_);
    const Reference input = variable_input(0);
    const Shape& shape = constant_input(1).shape;
    const std::vector<float>& matrix = float_input(1);
    if (attributes.integer("transA", 0) != 0 || input.shape.size() != 2 || shape.size() != 2)
        refuse("only (1, features) times a constant matrix is supported");
    const bool transposed = attributes.integer("transB", 0) != 0;
    const std::int64_t features = transposed ? shape[1] : shape[0];
    const std::int64_t outputs = transposed ? shape[0] : shape[1];
    if (features != input.shape[1])
        refuse("a matrix of shape " + to_text(shape) + " does not fit " + to_text(input.shape));
    const float alpha = attributes.real("alpha", 1.0f), beta = attributes.real("beta", 1.0f);
    std::vector<float> weights(matrix.size());
    for (std::int64_t output = 0; output < outputs; ++output)
        for (std::int64_t feature = 0; feature < features; ++feature)
            weights[output * features + feature] =
                alpha *
                matrix[transposed ? output * features + feature : feature * outputs + output];
    std::vector<float> bias(static_cast<std::size_t>(outputs), 0.0f);
    if (has_input(2)) {
        const std::vector<float>& addend = float_input(2);
        if (addend.size() != 1 && addend.size() != bias.size())
            refuse("the addend must have one element per output");
        for (std::size_t output = 0; output < bias.size(); ++output)
            bias[output] = beta * addend[addend.size() == 1 ? 0 : output];
    }
    add_fully_connected(std::move(weights), std::move(bias));
}

void Importer::matrix_product() {
    const Reference input = variable_input(0);
    const Shape& shape = constant_input(1).shape;
    const std::vector<float>& matrix = float_input(1);
    if (input.shape.size() != 2 || shape.size() != 2 || shape[0] != input.shape[1])
        refuse("only (1, features) times a constant (features, outputs) is supported");
    std::vector<float> weights(matrix.size());
    for (std::int64_t output = 0; output < shape[1]; ++output)
        for (std::int64_t feature = 0; feature < shape[0]; ++feature)
            weights[output * shape[0] + feature] = matrix[feature * shape[1] + output];
    add_fully_connected(std::move(weights),
                        std::vector<float>(static_cast<std::size_t>(shape[1]), 0.0f));
}

} // namespace overtake::compiler
