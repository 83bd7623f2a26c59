// SPDX-License-Identifier: MIT
#include "compiler/file/similarity.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace overtake::compiler {
namespace {

// Of a range of 2^16 steps, 16 are left for a sign whose numbers are 2^12 times smaller.
constexpr float most_beside_another_sign = 1 << 12;

} // namespace

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

void SignSimilarity::add(std::span<const float> values, std::span<const float> reference) {
    const auto part = [](std::span<const float> numbers, float sign) {
        std::vector<float> result(numbers.begin(), numbers.end());
        for (float& number : result)
            number = number * sign > 0 ? number : 0;
        return result;
    };
    above_.add(part(values, 1), part(reference, 1));
    below_.add(part(values, -1), part(reference, -1));
    for (const float number : reference) {
        count_above_ += number > 0;
        count_below_ += number < 0;
        if (std::isfinite(number)) {
            greatest_ = std::max(greatest_, number);
            least_ = std::min(least_, number);
        }
    }
}

double SignSimilarity::rarer_cosine() const {
    const bool is_above = count_above_ < count_below_;
    const float rarer = is_above ? greatest_ : -least_, other = is_above ? -least_ : greatest_;
    if (rarer == 0 || rarer < other / most_beside_another_sign)
        return std::numeric_limits<double>::quiet_NaN();
    return (is_above ? above_ : below_).cosine();
}

} // namespace overtake::compiler
