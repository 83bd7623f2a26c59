// SPDX-License-Identifier: MIT
//
// Gemm on the device.
#include "compiler/import/bpu/operators.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "compiler/import/bpu/features.hpp"
#include "compiler/import/context.hpp"

namespace overtake::compiler {

void bpu_gemm(Context& context) {
    const Attributes attributes(*context.node);
    const Reference input = variable_input(context, 0);
    const Shape& shape = constant_input(context, 1).shape;
    const std::vector<float>& matrix = float_input(context, 1);
    if (attributes.integer("transA", 0) != 0 || input.shape.size() != 2 || shape.size() != 2)
        refuse(context, "only (rows, features) times a constant matrix is supported");
    const bool transposed = attributes.integer("transB", 0) != 0;
    const std::int64_t features = transposed ? shape[1] : shape[0];
    const std::int64_t outputs = transposed ? shape[0] : shape[1];
    if (features != input.shape[1])
        refuse(context,
               "a matrix of shape " + to_text(shape) + " does not fit " + to_text(input.shape));
    const float alpha = attributes.real("alpha", 1.0f), beta = attributes.real("beta", 1.0f);
    std::vector<float> weights(matrix.size());
    for (std::int64_t output = 0; output < outputs; ++output)
        for (std::int64_t feature = 0; feature < features; ++feature)
            weights[output * features + feature] =
                alpha *
                matrix[transposed ? output * features + feature : feature * outputs + output];
    std::vector<float> bias(static_cast<std::size_t>(outputs), 0.0f);
    if (has_input(context, 2)) {
        const std::vector<float>& addend = float_input(context, 2);
        const Shape& addend_shape = constant_input(context, 2).shape;
        const bool is_column = addend_shape.size() == 2 && addend_shape[0] != 1;
        if ((addend.size() != 1 && addend.size() != bias.size()) || is_column)
            refuse(context, "the addend must have one element per output");
        for (std::size_t output = 0; output < bias.size(); ++output)
            bias[output] = beta * addend[addend.size() == 1 ? 0 : output];
    }
    if (is_row_of_features(context, input))
        add_fully_connected(context, std::move(weights), std::move(bias));
    else
        add_rows_product(context, input, std::move(weights), std::move(bias));
}

} // namespace overtake::compiler
