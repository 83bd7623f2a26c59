// SPDX-License-Identifier: MIT
//
// Features times a constant matrix, as a convolution.
#pragma once

#include <vector>

#include "compiler/import/context.hpp"

namespace overtake::compiler {

/// The same for each row of features: a convolution of one element over (rows, features).
void add_rows_product(Context& context, const Reference& input, std::vector<float> weights,
                      std::vector<float> bias);

/// Whether each row of a matrix is what one image holds, or its only row whatever there is.
bool is_row_of_features(const Context& context, const Reference& matrix);

/// `weights` are (outputs, features): a convolution whose kernel covers its whole input, so
/// flattened features need no data movement.  The input is_row_of_features().
void add_fully_connected(Context& context, std::vector<float> weights, std::vector<float> bias);

} // namespace overtake::compiler
