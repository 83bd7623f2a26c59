// SPDX-License-Identifier: MIT
//
// Gemm and MatMul on the device.
#include "compiler/import/importer.hpp"

#include "overtake_isa.h"

namespace overtake::compiler {

// (outputs, features) with the features in the order that a convolution has its weights in.
static std::vector<float> in_planes(const std::vector<float>& weights, const Value& features) {
    if (features.order == Order::planes)
        return weights;
    std::vector<float> result(weights.size());
    const std::size_t each = features.elements();
    for_each_element(features, [&](auto channel, auto y, auto x, std::size_t index) {
        const std::size_t place = (std::size_t{channel} * features.height + y) * features.width + x;
        for (std::size_t first = 0; first < weights.size(); first += each)
            result[first + place] = weights[first + index];
    });
    return result;
}

// `weights` are (outputs, features): a convolution whose kernel covers its whole input, so
// flattened features need no data movement.
void Importer::add_fully_connected(std::vector<float> weights, std::vector<float> bias) {
    const Reference input = variable_input(0);
    const Value& data = value_of(input);
    if (!data.fits_device())
        return add_rows_product(input, std::move(weights), std::move(bias));
    if (data.elements() > OVERTAKE_MAX_KERNEL_ELEMENTS || data.height > max_window ||
        data.width > max_window)
        refuse("has more than " + std::to_string(OVERTAKE_MAX_KERNEL_ELEMENTS) + " features");
    Node node = new_node(Operator::convolution);
    node.window.kernel_height = data.height;
    node.window.kernel_width = data.width;
    node.weights = in_planes(weights, data);
    node.bias = std::move(bias);
    node.inputs = {input.value};
    const auto outputs = static_cast<std::int64_t>(node.bias.size());
    finish(std::move(node), add_value(node_->output(0), {1, outputs}));
}

// The same for each row of features: a convolution of one element over (rows, features).
void Importer::add_rows_product(const Reference& input, std::vector<float> weights,
                                std::vector<float> bias) {
    if (input.shape.back() > std::int64_t{OVERTAKE_MAX_KERNEL_ELEMENTS})
        refuse("has more than " + std::to_string(OVERTAKE_MAX_KERNEL_ELEMENTS) + " features");
    Node node = new_node(Operator::convolution);
    node.weights = std::move(weights);
    node.bias = std::move(bias);
    node.inputs = {in_order(input, Order::rows)};
    Shape shape = input.shape;
    shape.back() = static_cast<std::int64_t>(node.bias.size());
    finish(std::move(node), add_value(node_->output(0), shape, Order::rows));
}

void Importer::gemm() {
    const Attributes attributes(*node_);
    const Reference input = variable_input(0);
    const Shape& shape = constant_input(1).shape;
    const std::vector<float>& matrix = float_input(1);
    if (attributes.integer("transA", 0) != 0 || input.shape.size() != 2 || shape.size() != 2)
        refuse("only (rows, features) times a constant matrix is supported");
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
        const Shape& addend_shape = constant_input(2).shape;
        const bool is_column = addend_shape.size() == 2 && addend_shape[0] != 1;
        if ((addend.size() != 1 && addend.size() != bias.size()) || is_column)
            refuse("the addend must have one element per output");
        for (std::size_t output = 0; output < bias.size(); ++output)
            bias[output] = beta * addend[addend.size() == 1 ? 0 : output];
    }
    if (input.shape[0] == 1)
        add_fully_connected(std::move(weights), std::move(bias));
    else
        add_rows_product(input, std::move(weights), std::move(bias));
}

// Both matrices computed: rows of the one with rows of the other transposed.
static constexpr std::int64_t max_factors = 32768; // products of 16 bits in a sum of 32

void Importer::matrix_product() {
    if (!is_constant(1)) {
        const Reference left = variable_input(0), right = variable_input(1);
        if (left.shape.size() < 2 || left.shape.size() != right.shape.size() ||
            left.shape.back() != right.shape[right.shape.size() - 2])
            refuse("matrices of shapes " + to_text(left.shape) + " and " + to_text(right.shape) +
                   " do not fit each other");
        if (left.shape.back() > max_factors)
            refuse("has more than " + std::to_string(max_factors) + " factors");
        Node node = new_node(Operator::matrix_product);
        const ValueId first = in_order(left, Order::rows);
        const ValueId second = transposed_matrix(right);
        node.inputs = {first, second};
        Shape shape = left.shape;
        shape.back() = right.shape.back();
        const std::uint32_t height = graph_.values[second].height;
        if (height != 1 && height != graph_.values[first].height)
            refuse("its batches do not fit each other on the device");
        finish(std::move(node), add_value(node_->output(0), shape, Order::rows));
        return;
    }
    const Reference input = variable_input(0);
    const Shape& shape = constant_input(1).shape;
    const std::vector<float>& matrix = float_input(1);
    if (input.shape.size() < 2 || shape.size() != 2 || shape[0] != input.shape.back())
        refuse("only (rows, features) times a constant (features, outputs) is supported");
    std::vector<float> weights(matrix.size());
    for (std::int64_t output = 0; output < shape[1]; ++output)
        for (std::int64_t feature = 0; feature < shape[0]; ++feature)
            weights[output * shape[0] + feature] = matrix[feature * shape[1] + output];
    std::vector<float> bias(static_cast<std::size_t>(shape[1]), 0.0f);
    if (input.shape.size() == 2 && input.shape[0] == 1)
        add_fully_connected(std::move(weights), std::move(bias));
    else
        add_rows_product(input, std::move(weights), std::move(bias));
}

} // namespace overtake::compiler
