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

/// `weights` are (outputs, features): a convolution whose kernel covers its whole input, so
/// flattened features need no data movement.
void add_fully_connected(Context& context, std::vector<float> weights, std::vector<float> bias);

} // namespace overtake::compiler
