// SPDX-License-Identifier: MIT
//
// MatMul on the device.
#include "compiler/import/bpu/operators.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compiler/import/bpu/features.hpp"
#include "compiler/import/bpu/order.hpp"
#include "compiler/import/context.hpp"
#include "compiler/import/nodes.hpp"

namespace overtake::compiler {

namespace {

constexpr std::int64_t max_factors = 32768; // products of 16 bits in a sum of 32

} // namespace

// Imports a product of two computed matrices: rows of one with rows of the other, which is
// transposed.
void bpu_matrix_product(Context& context) {
    if (!is_constant(context, 1)) {
        const Reference left = variable_input(context, 0), right = variable_input(context, 1);
        if (left.shape.size() < 2 || left.shape.size() != right.shape.size() ||
            left.shape.back() != right.shape[right.shape.size() - 2])
            refuse(context, "matrices of shapes " + to_text(left.shape) + " and " +
                                to_text(right.shape) + " do not fit each other");
        if (left.shape.back() > max_factors)
            refuse(context, "has more than " + std::to_string(max_factors) + " factors");
        Node node = new_node(context, op::MatrixProduct{});
        const ValueId first = in_order(context, left, Order::rows);
        const ValueId second = transposed_matrix(context, right);
        node.inputs = {first, second};
        Shape shape = left.shape;
        shape.back() = right.shape.back();
        const std::uint32_t height = context.graph.values[second].height;
        if (height != 1 && height != context.graph.values[first].height)
            refuse(context, "its batches do not fit each other on the device");
        finish(context, std::move(node),
               add_value(context, context.node->output(0), shape, Order::rows));
        return;
    }
    const Reference input = variable_input(context, 0);
    const Shape& shape = constant_input(context, 1).shape;
    const std::vector<float>& matrix = float_input(context, 1);
    if (input.shape.size() < 2 || shape.size() != 2 || shape[0] != input.shape.back())
        refuse(context, "only (rows, features) times a constant (features, outputs) is supported");
    std::vector<float> weights(matrix.size());
    for (std::int64_t output = 0; output < shape[1]; ++output)
        for (std::int64_t feature = 0; feature < shape[0]; ++feature)
            weights[output * shape[0] + feature] = matrix[feature * shape[1] + output];
    std::vector<float> bias(static_cast<std::size_t>(shape[1]), 0.0f);
    if (input.shape.size() == 2 && is_row_of_features(context, input))
        add_fully_connected(context, std::move(weights), std::move(bias));
    else
        add_rows_product(context, input, std::move(weights), std::move(bias));
}

} // namespace overtake::compiler
