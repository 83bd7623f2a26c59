// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace overtake::host_profile {

/// The features of one instruction: 1, operations, output elements, input bytes, constant bytes.
constexpr std::size_t feature_count = 5;
using Features = std::array<double, feature_count>;

struct Observation {
    Features features;
    double ns;
};

/// Returns coefficients >= 0 with the least sum of squares of relative errors (features *
/// coefficients / ns - 1).  Tries each set of features with the coefficients of the others at 0.
/// `observations` is not empty.
Features fit(std::span<const Observation> observations);

double estimate(const Features& features, const Features& coefficients);

/// Returns the smallest value that at least `percent` of the values do not exceed; 0 if there are
/// none.
double percentile(std::vector<double> values, double percent);

} // namespace overtake::host_profile
