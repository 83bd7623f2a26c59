// SPDX-License-Identifier: MIT
#include "compiler/file/similarity.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>

namespace overtake::compiler {
namespace {

// Of a range of 2^16 steps, 16 are left for a sign whose numbers are 2^12 times smaller.
constexpr float most_beside_another_sign = 1 << 12;

} // namespace

void Similarity::add(std::span<const float> values, std::span<const float> reference) {
    for (std::size_t index = 0; index < values.size(); ++index)
        add(values[index], reference[index]);
}

void Similarity::add(float value, float reference) {
    const double right = reference;
    if (!std::isfinite(right))
        return;
    const double left = std::isfinite(value) ? value : 0;
    has_any_ = true;
    product_ += left * right;
    values_ += left * left;
    reference_ += right * right;
    difference_ += (left - right) * (left - right);
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
    for (std::size_t index = 0; index < values.size(); ++index) {
        const float value = values[index], wanted = reference[index];
        above_.add(value > 0 ? value : 0, wanted > 0 ? wanted : 0);
        below_.add(value < 0 ? value : 0, wanted < 0 ? wanted : 0);
        count_above_ += wanted > 0;
        count_below_ += wanted < 0;
        if (std::isfinite(wanted)) {
            greatest_ = std::max(greatest_, wanted);
            least_ = std::min(least_, wanted);
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

void DecisionSimilarity::add(std::span<const float> values, std::span<const float> reference,
                             std::size_t choices, std::size_t inner) {
    for (std::size_t first = 0; first < reference.size(); first += choices * inner)
        for (std::size_t place = first; place < first + inner; ++place)
            add_one(&values[place], &reference[place], choices, inner);
}

void DecisionSimilarity::add_one(const float* values, const float* reference, std::size_t choices,
                                 std::size_t step) {
    float least = std::numeric_limits<float>::infinity(), greatest = -least;
    float of_values = greatest, chosen = std::numeric_limits<float>::quiet_NaN();
    std::size_t right = 0;
    for (std::size_t at = 0; at < choices * step; at += step) {
        least = std::min(least, reference[at]);
        if (reference[at] > greatest) {
            greatest = reference[at];
            right = at;
        }
        if (values[at] > of_values) {
            of_values = values[at];
            chosen = reference[at];
        }
    }
    if (!std::isfinite(greatest))
        return;
    const double tie = tie_ * std::min(1.0, double{greatest} - least);
    ++decided_;
    same_ += chosen == greatest || double{greatest} - chosen < tie;
    if (leads_.size() == most_estimated)
        return;
    // The next numbers that are not as good.
    std::array<float, most_leads> leads;
    leads.fill(std::numeric_limits<float>::infinity());
    double with_error = 0;
    for (std::size_t at = 0; at < choices * step; at += step) {
        const double below = double{greatest} - reference[at];
        const auto lead = static_cast<float>(below);
        if (!(below > 0 && below >= tie && lead < leads.back()))
            continue;
        const auto after = std::ranges::upper_bound(leads, lead);
        std::shift_right(after, leads.end(), 1);
        *after = lead;
        if (after == leads.begin())
            with_error = double{values[right]} - values[at];
    }
    if (std::isfinite(leads[0]) && std::isfinite(with_error)) {
        leads_.push_back(leads);
        errors_squared_ += (with_error - leads[0]) * (with_error - leads[0]);
    }
}

double DecisionSimilarity::share() const {
    if (decided_ == 0)
        return std::numeric_limits<double>::quiet_NaN();
    return static_cast<double>(same_) / static_cast<double>(decided_);
}

double DecisionSimilarity::expected_share() const {
    if (leads_.empty() || decided_ > most_estimated)
        return std::numeric_limits<double>::quiet_NaN();
    if (errors_squared_ == 0)
        return 1;
    const double deviation = std::sqrt(errors_squared_ / static_cast<double>(leads_.size()));
    double others = 0;
    for (const std::array<float, most_leads>& leads : leads_) {
        double same = 1;
        for (const float lead : leads)
            same *= 1 - std::erfc(lead / (deviation * std::numbers::sqrt2)) / 2;
        others += 1 - same;
    }
    return 1 - others / static_cast<double>(decided_);
}

} // namespace overtake::compiler
