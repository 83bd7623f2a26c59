// SPDX-License-Identifier: MIT
//
// Products of features and a constant matrix, as convolutions.
#pragma once

#include <vector>

#include "compiler/import/context.hpp"

namespace overtake::compiler {

/// Computes the product for each row of features, by a convolution of one element over (rows,
/// features).
void add_rows_product(Context& context, const Reference& input, std::vector<float> weights,
                      std::vector<float> bias);

/// Whether each row of a matrix has the elements of one image, or the matrix has only one row.
bool is_row_of_features(const Context& context, const Reference& matrix);

/// Computes the product by a convolution whose kernel covers its whole input, so flattened features
/// need no data movement.  `weights` are (outputs, features).  The input is_row_of_features().
void add_fully_connected(Context& context, std::vector<float> weights, std::vector<float> bias);

} // namespace overtake::compiler
