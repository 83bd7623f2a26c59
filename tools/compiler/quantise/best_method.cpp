// SPDX-License-Identifier: MIT
#include "compiler/quantise/best_method.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace overtake::compiler {

float output_error(float relative_error, float saturated) {
    const float error = std::isnan(relative_error) ? 0 : relative_error + saturated;
    return error / (1 + error);
}

std::size_t best_method(const std::vector<std::vector<float>>& errors) {
    std::size_t best = 0;
    float least = std::numeric_limits<float>::infinity();
    for (std::size_t method = 0; method < errors.size(); ++method) {
        float excess = 0;
        for (const std::vector<float>& other : errors)
            for (std::size_t output = 0; output < other.size(); ++output)
                excess = std::max(excess, errors[method][output] - other[output]);
        if (excess < least) {
            least = excess;
            best = method;
        }
    }
    return best;
}

} // namespace overtake::compiler
