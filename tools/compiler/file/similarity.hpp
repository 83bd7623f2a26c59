// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <span>
#include <vector>

namespace overtake::compiler {

/// The nearness of values to a reference, over any number of arrays.  An element that is not finite
/// in the reference does not count; a value that is not finite elsewhere counts as 0.
class Similarity {
public:
    /// Both of the same size.
    void add(std::span<const float> values, std::span<const float> reference);
    void add(float value, float reference);

    /// Returns the cosine: 1 if both are zero, NaN if the reference has no finite element.
    double cosine() const;
    /// Returns the root mean square of the difference over that of the reference; NaN as cosine().
    /// If the reference is zero, returns 0 if the values are zero, or else 1.
    double error() const;

private:
    double product_ = 0, values_ = 0, reference_ = 0, difference_ = 0;
    bool has_any_ = false;
};

/// The nearness of the numbers above zero to those of a reference, and that of the numbers below
/// zero.  In each comparison a number of the other sign is 0.
class SignSimilarity {
public:
    /// Both of the same size.
    void add(std::span<const float> values, std::span<const float> reference);

    /// Returns the cosine of the sign that fewer numbers of the reference have.  Returns NaN if all
    /// numbers have one sign.  Also returns NaN if the numbers of that sign are so small beside the
    /// others that 16 bits have few steps for them: they may be zeros with rounding errors.
    double rarer_cosine() const;

private:
    Similarity above_, below_;
    std::size_t count_above_ = 0, count_below_ = 0; // of the reference
    float greatest_ = 0, least_ = 0;                // finite ones, and 0
};

/// The leads of the greatest number of a reference over its next numbers, and the errors of the
/// least lead of each decision.
class DecisionLeads {
public:
    static constexpr std::size_t most_leads = 64; ///< of a decision

    /// Adds the leads of a decision over `choices` numbers, `step` apart, that are at least `tie`.
    /// `right` is the place of the greatest number.  Returns false, and adds nothing, if there is
    /// no lead or if the error of the least lead is not finite.
    bool add(const float* values, const float* reference, std::size_t right, std::size_t choices,
             std::size_t step, double tie);

    std::size_t count() const { return least_.size(); }

    /// Returns the probability that decision `number` turns out as another choice.  Errors of leads
    /// are taken to be normal, with the deviation of the least leads' errors, and to be independent
    /// of each other.  `weigh(lead)`, 0..1, is the weight of another choice.
    template <typename Weigh>
    double others(std::size_t number, const Weigh& weigh) const;

private:
    // In ascending order; infinite where there are fewer.
    std::vector<std::array<float, most_leads>> least_;
    double errors_squared_ = 0; // of the least leads
};

/// The share of decisions that are those of a reference.  A decision is the place of the greatest
/// of some numbers, or whether one number is above a threshold.
class DecisionSimilarity {
public:
    /// Another place counts as the same decision if the reference's number there is below its
    /// greatest by less than `tie` times the range of its numbers, or by less than `tie` if their
    /// range exceeds 1: a difference of 1 between logits is a factor of e between probabilities,
    /// however small the other logits are.
    explicit DecisionSimilarity(double tie) : tie_(tie) {}

    /// Both arrays are [any][choices][inner].  Numbers whose greatest is not finite in the
    /// reference are no decision.
    void add(std::span<const float> values, std::span<const float> reference, std::size_t choices,
             std::size_t inner);

    /// Adds elements in 0..1, each of which is a decision: whether it is above `threshold`.
    void add_each(std::span<const float> values, std::span<const float> reference, float threshold);

    /// Returns the share of equal decisions, 0..1; NaN if the reference has no decision.
    double share() const;

    /// Returns the share of equal decisions to be expected over other data, 0..1.  A few decisions
    /// that are all equal are little evidence for others.  Therefore, DecisionLeads::others()
    /// compares the leads of each decision that are no ties with the errors of all decisions.
    /// Returns NaN with more than `most_estimated` decisions, for which share() is better evidence,
    /// and if no decision has a lead.
    double expected_share() const;

    static constexpr std::size_t most_estimated = 1000;

private:
    // Adds the decision between `choices` numbers, `step` apart.  Their range counts as `range` at
    // least.
    void add_one(const float* values, const float* reference, std::size_t choices, std::size_t step,
                 double range);

    double tie_;
    std::size_t decided_ = 0, same_ = 0;
    DecisionLeads leads_; // of the first decisions
};

/// The nearness of vectors of logits to those of a reference, by the probabilities that Softmax
/// makes of them.  Vectors that hold something else are seldom far by this measure if they are near
/// by their cosine: numbers within a range of 1 have nearly equal probabilities.
class LogitSimilarity {
public:
    /// Both arrays consist of vectors of `choices` logits.
    void add(std::span<const float> values, std::span<const float> reference, std::size_t choices);

    /// Returns the cosine of the probabilities, or 1 less twice the loss of a choice, if that is
    /// smaller.  The loss is a mean of differences: between the reference's greatest probability
    /// and its probability for the place of the greatest value.  It is the loss to be expected over
    /// other data (DecisionLeads), or the counted one with more than `most_estimated` vectors.
    /// Returns NaN if the reference has no finite vector.
    double nearness() const;

    static constexpr std::size_t most_estimated = 1000;

private:
    void add_one(const float* values, const float* reference, std::size_t choices);
    double loss() const;

    Similarity probabilities_;
    std::size_t vectors_ = 0;
    double lost_ = 0;           // by finite vectors
    double lost_by_others_ = 0; // not finite, of a finite reference
    DecisionLeads leads_;       // of the first vectors
    std::vector<float> chance_; // the greatest probability of each of these
};

template <typename Weigh>
double DecisionLeads::others(std::size_t number, const Weigh& weigh) const {
    if (errors_squared_ == 0)
        return 0;
    const double deviation = std::sqrt(errors_squared_ / static_cast<double>(count()));
    double same = 1, chance = 0, weighed = 0;
    for (const float lead : least_[number]) {
        const double other = std::erfc(lead / (deviation * std::numbers::sqrt2)) / 2;
        same *= 1 - other;
        chance += other;
        weighed += other * weigh(double{lead});
    }
    return chance == 0 ? 0 : (1 - same) * weighed / chance;
}

} // namespace overtake::compiler
