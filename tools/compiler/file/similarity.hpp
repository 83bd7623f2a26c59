// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <span>
#include <vector>

namespace overtake::compiler {

/// How near values come to a reference, over any number of arrays.  What is not finite in the
/// reference has no counterpart; what is not finite only in the values counts as 0.
class Similarity {
public:
    /// Both of the same size.
    void add(std::span<const float> values, std::span<const float> reference);
    void add(float value, float reference);

    /// 1 where both are zero, NaN where the reference has no finite element.
    double cosine() const;
    /// Root mean square of the difference over that of the reference; NaN as above.
    double error() const;

private:
    double product_ = 0, values_ = 0, reference_ = 0, difference_ = 0;
    bool has_any_ = false;
};

/// How near the numbers above zero come to those of a reference, and those below it.  In each, a
/// number of the other sign is 0.
class SignSimilarity {
public:
    /// Both of the same size.
    void add(std::span<const float> values, std::span<const float> reference);

    /// The cosine of the sign that fewer numbers of the reference have.  NaN where all have one
    /// sign, and where those of that sign are so small beside the others that 16 bits hold few of
    /// them or none: what rounding in float leaves of zeros is not to be compared.
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
    /// `right` is the place of the greatest number.  Returns whether there is a lead and its error
    /// is finite; else nothing is added.
    bool add(const float* values, const float* reference, std::size_t right, std::size_t choices,
             std::size_t step, double tie);

    std::size_t count() const { return least_.size(); }

    /// The share of decision `number` that another choice is expected to get: an error is taken for
    /// normal, with the deviation of the least leads, and each lead is looked at on its own.
    /// `weigh(lead)` is 0..1: what such another choice counts.
    template <typename Weigh>
    double others(std::size_t number, const Weigh& weigh) const;

private:
    // In ascending order; infinite where there are fewer.
    std::vector<std::array<float, most_leads>> least_;
    double errors_squared_ = 0; // of the least leads
};

/// How many decisions are those of a reference: places of the greatest of some numbers, or whether
/// one number is above a threshold.
class DecisionSimilarity {
public:
    /// Another place is as good where the reference's number there is below its greatest by less
    /// than `tie` times the range of its numbers, or times 1 if their range is greater: of logits,
    /// a difference of 1 is one by the factor e in probability, whatever lies far below.
    explicit DecisionSimilarity(double tie) : tie_(tie) {}

    /// Arrays of one size: [any][choices][inner].  What has no finite greatest number in the
    /// reference is no decision.
    void add(std::span<const float> values, std::span<const float> reference, std::size_t choices,
             std::size_t inner);

    /// The same for elements in 0..1 that are each a decision for itself: whether it is above
    /// `threshold`.
    void add_each(std::span<const float> values, std::span<const float> reference, float threshold);

    /// 0..1; NaN where the reference decides nothing.
    double share() const;

    /// The share to be expected of decisions about other data: a few that are all the same say
    /// little of those to come.  Of each decision, the leads of the reference's greatest number
    /// over the next ones (that are no ties) are held against the error of the least lead, taken
    /// for normal with the deviation of all decisions, and of each lead on its own.  0..1; NaN with
    /// more than `most_estimated` decisions, as their count says more, and where none has a lead.
    double expected_share() const;

    static constexpr std::size_t most_estimated = 1000;

private:
    // Of [choices] numbers, `step` apart, whose range is `range` at least.
    void add_one(const float* values, const float* reference, std::size_t choices, std::size_t step,
                 double range);

    double tie_;
    std::size_t decided_ = 0, same_ = 0;
    DecisionLeads leads_; // of the first decisions
};

/// How near vectors of logits come to those of a reference, by the probabilities that Softmax makes
/// of them.  Vectors that hold something else are seldom far by this measure if they are near by
/// their cosine: numbers within a range of 1 have nearly equal probabilities.
class LogitSimilarity {
public:
    /// Arrays of one size, of vectors of `choices` logits.
    void add(std::span<const float> values, std::span<const float> reference, std::size_t choices);

    /// The smaller one of: the cosine of the probabilities; 1 less twice the loss of a choice,
    /// which is the mean of what the reference's probability of the greatest value is below its
    /// greatest probability.  The loss is the one that is expected of other data (DecisionLeads),
    /// or the counted one with more than `most_estimated` vectors.  NaN without a finite vector.
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
