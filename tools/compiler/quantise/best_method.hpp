// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

namespace overtake::compiler {

/// Returns how far an output is from float, by its relative error, which shows errors of scale, and
/// by the share of its elements that saturate.  The result goes from 0 through 0.5, where the error
/// is that of zeros, to 1, where it has no bound.  It is 0 if the error is NaN: then there is
/// nothing to compare.
float output_error(float relative_error, float saturated);

/// Returns the method, an index into `errors`, with which no output is much farther from float than
/// with another method: an output that is far off with all methods does not hide the others.  Of
/// equally good methods returns the first.  errors[method][output] is a result of output_error().
std::size_t best_method(const std::vector<std::vector<float>>& errors);

} // namespace overtake::compiler
