// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

namespace overtake::compiler {

/// How far an output is from float, by its relative error, which sees scale, and the share of its
/// elements that saturate: from 0, through 0.5, where the error is that of zeros, to 1 where it has
/// no bound.  0 if the error is NaN, where there is nothing to compare.
float output_error(float relative_error, float saturated);

/// The method, an index into `errors`, whose outputs are nowhere much farther from float than
/// another method's: an output that is far off with all of them does not hide the others.  The
/// first of those that are equally good.  errors[method][output] is what output_error() says.
std::size_t best_method(const std::vector<std::vector<float>>& errors);

} // namespace overtake::compiler
