// SPDX-License-Identifier: MIT
#include "compiler/file/similarity.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>

namespace overtake::compiler {
namespace {

// A range of 2^16 steps has 16 steps for a sign whose numbers are 2^12 times smaller.
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

bool DecisionLeads::add(const float* values, const float* reference, std::size_t right,
                        std::size_t choices, std::size_t step, double tie) {
    std::array<float, most_leads> leads;
    leads.fill(std::numeric_limits<float>::infinity());
    double with_error = 0;
    for (std::size_t at = 0; at < choices * step; at += step) {
        const double below = double{reference[right]} - reference[at];
        const auto lead = static_cast<float>(below);
        if (!(below > 0 && below >= tie && lead < leads.back()))
            continue;
        const auto after = std::ranges::upper_bound(leads, lead);
        std::shift_right(after, leads.end(), 1);
        *after = lead;
        if (after == leads.begin())
            with_error = double{values[right]} - values[at];
    }
    if (!std::isfinite(leads[0]) || !std::isfinite(with_error))
        return false;
    least_.push_back(leads);
    errors_squared_ += (with_error - leads[0]) * (with_error - leads[0]);
    return true;
}

void DecisionSimilarity::add(std::span<const float> values, std::span<const float> reference,
                             std::size_t choices, std::size_t inner) {
    for (std::size_t first = 0; first < reference.size(); first += choices * inner)
        for (std::size_t place = first; place < first + inner; ++place)
            add_one(&values[place], &reference[place], choices, inner, 0);
}

void DecisionSimilarity::add_each(std::span<const float> values, std::span<const float> reference,
                                  float threshold) {
    for (std::size_t place = 0; place < reference.size(); ++place) {
        const std::array value = {values[place], threshold};
        const std::array wanted = {reference[place], threshold};
        if (std::isfinite(wanted[0]))
            add_one(value.data(), wanted.data(), 2, 1, 1);
    }
}

void DecisionSimilarity::add_one(const float* values, const float* reference, std::size_t choices,
                                 std::size_t step, double range) {
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
    const double tie = tie_ * std::min(1.0, std::max(range, double{greatest} - least));
    ++decided_;
    same_ += chosen == greatest || double{greatest} - chosen < tie;
    if (leads_.count() < most_estimated)
        leads_.add(values, reference, right, choices, step, tie);
}

double DecisionSimilarity::share() const {
    if (decided_ == 0)
        return std::numeric_limits<double>::quiet_NaN();
    return static_cast<double>(same_) / static_cast<double>(decided_);
}

double DecisionSimilarity::expected_share() const {
    if (leads_.count() == 0 || decided_ > most_estimated)
        return std::numeric_limits<double>::quiet_NaN();
    double others = 0;
    for (std::size_t number = 0; number < leads_.count(); ++number)
        others += leads_.others(number, [](double) { return 1.0; });
    return 1 - others / static_cast<double>(decided_);
}

void LogitSimilarity::add(std::span<const float> values, std::span<const float> reference,
                          std::size_t choices) {
    for (std::size_t first = 0; first < reference.size(); first += choices)
        add_one(&values[first], &reference[first], choices);
}

void LogitSimilarity::add_one(const float* values, const float* reference, std::size_t choices) {
    const auto is_finite = [](float number) { return std::isfinite(number); };
    if (!std::ranges::all_of(reference, reference + choices, is_finite))
        return;
    const auto place = [&](const float* numbers) {
        return static_cast<std::size_t>(std::max_element(numbers, numbers + choices) - numbers);
    };
    const auto sum = [&](const float* numbers, double greatest) {
        double total = 0;
        for (std::size_t at = 0; at < choices; ++at)
            total += std::exp(numbers[at] - greatest);
        return total;
    };
    const std::size_t right = place(reference);
    const double greatest = reference[right], total = sum(reference, greatest);
    ++vectors_;
    if (!std::ranges::all_of(values, values + choices, is_finite)) {
        lost_by_others_ += 1 / total; // infinities and NaN count as the wrong choice
        for (std::size_t at = 0; at < choices; ++at)
            probabilities_.add(0, static_cast<float>(std::exp(reference[at] - greatest) / total));
        return;
    }
    const std::size_t chosen = place(values);
    const double of_values = values[chosen], total_of_values = sum(values, of_values);
    for (std::size_t at = 0; at < choices; ++at)
        probabilities_.add(static_cast<float>(std::exp(values[at] - of_values) / total_of_values),
                           static_cast<float>(std::exp(reference[at] - greatest) / total));
    lost_ += (1 - std::exp(reference[chosen] - greatest)) / total;
    if (leads_.count() < most_estimated && leads_.add(values, reference, right, choices, 1, 0))
        chance_.push_back(static_cast<float>(1 / total));
}

double LogitSimilarity::loss() const {
    double lost = lost_;
    if (vectors_ <= most_estimated) {
        lost = 0;
        for (std::size_t number = 0; number < leads_.count(); ++number)
            lost += chance_[number] *
                    leads_.others(number, [](double lead) { return 1 - std::exp(-lead); });
    }
    return (lost + lost_by_others_) / static_cast<double>(vectors_);
}

double LogitSimilarity::nearness() const {
    if (vectors_ == 0)
        return std::numeric_limits<double>::quiet_NaN();
    const double cosine = probabilities_.cosine();
    return std::min(std::isnan(cosine) ? 0 : cosine, 1 - 2 * loss());
}

} // namespace overtake::compiler
