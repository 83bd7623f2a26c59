// SPDX-License-Identifier: MIT
#include "compiler/host_profile/fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

namespace overtake::host_profile {
namespace {

using Matrix = std::array<std::array<double, feature_count>, feature_count>;

// Solves the chosen rows and columns by Gaussian elimination; nothing if they are singular.
std::optional<Features> solve(Matrix matrix, Features right, unsigned chosen) {
    std::vector<std::size_t> indices;
    for (std::size_t index = 0; index < feature_count; ++index)
        if (chosen & 1u << index)
            indices.push_back(index);
    for (std::size_t step = 0; step < indices.size(); ++step) {
        const std::size_t column = indices[step];
        const auto pivot = std::ranges::max_element(
            indices.begin() + static_cast<std::ptrdiff_t>(step), indices.end(), {},
            [&](std::size_t row) { return std::fabs(matrix[row][column]); });
        std::swap(matrix[*pivot], matrix[column]);
        std::swap(right[*pivot], right[column]);
        if (std::fabs(matrix[column][column]) < 1e-9)
            return std::nullopt;
        for (const std::size_t row : indices) {
            if (row == column)
                continue;
            const double factor = matrix[row][column] / matrix[column][column];
            for (const std::size_t each : indices)
                matrix[row][each] -= factor * matrix[column][each];
            right[row] -= factor * right[column];
        }
    }
    Features solution{};
    for (const std::size_t index : indices)
        solution[index] = right[index] / matrix[index][index];
    return solution;
}

} // namespace

double estimate(const Features& features, const Features& coefficients) {
    return std::inner_product(features.begin(), features.end(), coefficients.begin(), 0.0);
}

Features fit(std::span<const Observation> observations) {
    // Columns are scaled to a greatest entry of 1, so that one bound decides for all which are
    // singular.
    Features scale;
    scale.fill(std::numeric_limits<double>::min());
    for (const Observation& observation : observations)
        for (std::size_t index = 0; index < feature_count; ++index)
            scale[index] = std::max(scale[index], observation.features[index] / observation.ns);
    Matrix matrix{};
    Features right{};
    for (const Observation& observation : observations)
        for (std::size_t row = 0; row < feature_count; ++row) {
            const double left = observation.features[row] / observation.ns / scale[row];
            right[row] += left;
            for (std::size_t column = 0; column < feature_count; ++column)
                matrix[row][column] +=
                    left * observation.features[column] / observation.ns / scale[column];
        }
    Features best{};
    double least = std::numeric_limits<double>::infinity();
    for (unsigned chosen = 1; chosen < 1u << feature_count; ++chosen) {
        const auto solution = solve(matrix, right, chosen);
        if (!solution || std::ranges::any_of(*solution, [](double x) { return x < 0; }))
            continue;
        Features candidate;
        for (std::size_t index = 0; index < feature_count; ++index)
            candidate[index] = (*solution)[index] / scale[index];
        double error = 0;
        for (const Observation& observation : observations)
            error += std::pow(estimate(observation.features, candidate) / observation.ns - 1, 2);
        if (error < least) {
            least = error;
            best = candidate;
        }
    }
    return best;
}

double percentile(std::vector<double> values, double percent) {
    if (values.empty())
        return 0;
    std::ranges::sort(values);
    const double rank = std::ceil(percent / 100 * static_cast<double>(values.size()));
    return values[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

} // namespace overtake::host_profile
