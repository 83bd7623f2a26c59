// SPDX-License-Identifier: MIT
#include "compiler/file/similarity.hpp"

#include <cmath>
#include <cstddef>
#include <limits>

namespace overtake::compiler {

void Similarity::add(std::span<const float> values, std::span<const float> reference) {
    for (std::size_t index = 0; index < values.size(); ++index) {
        const double right = reference[index];
        if (!std::isfinite(right))
            continue;
        const double left = std::isfinite(values[index]) ? values[index] : 0;
        has_any_ = true;
        product_ += left * right;
        values_ += left * left;
        reference_ += right * right;
        difference_ += (left - right) * (left - right);
    }
}

double Similarity::cosine() const {
    if (!has_any_)
        return std::numeric_limits<double>::quiet_NaN();
    if (values_ == 0 && reference_ == 0)
        return 1;
    return values_ == 0 || reference_ == 0 ? 0 : product_ / std::sqrt(values_ * reference_);
}

double Similarity::error() const {
    if (!has_any_)
        return std::numeric_limits<double>::quiet_NaN();
    if (reference_ == 0)
        return difference_ == 0 ? 0 : 1;
    return std::sqrt(difference_ / reference_);
}

} // namespace overtake::compiler
