// SPDX-License-Identifier: MIT
//
// The nearness of numbers to a reference, of those of its rarer sign, and of decisions.
#include "compiler/file/similarity.hpp"

#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace overtake::compiler {
namespace {

using Numbers = std::vector<float>;

double rarer_cosine(const Numbers& values, const Numbers& reference) {
    SignSimilarity similarity;
    similarity.add(values, reference);
    return similarity.rarer_cosine();
}

TEST(SignSimilarity, SeesFewNumbersBesideLargeOnesOfTheOtherSign) {
    const Numbers reference = {-900, -700, -800, 3, -600, 1},
                  coarse = {-903, -700, -798, 0, -602, 0};
    Similarity all;
    all.add(coarse, reference);
    EXPECT_GT(all.cosine(), 0.9999);
    EXPECT_EQ(rarer_cosine(coarse, reference), 0);
    EXPECT_EQ(rarer_cosine({-900, 0, -800, 3, -600, 1}, reference), 1);
}

TEST(SignSimilarity, CountsANumberOfTheOtherSignAsZero) {
    EXPECT_NEAR(rarer_cosine({-5, -5, -5, -4, 3}, {-5, -5, -5, 4, 3}), 3 / 5.0, 1e-6);
    EXPECT_NEAR(rarer_cosine({-5, 4, -5, 0, 3}, {-5, -5, -5, 0, 3}), 3 / 5.0, 1e-6);
    EXPECT_EQ(rarer_cosine({5, 5, 5, -4, 3}, {5, 5, 5, -4, 3}), 1) << "below zero are fewer";
    EXPECT_EQ(rarer_cosine({5, 5, 5, 4, 3}, {5, 5, 5, -4, 3}), 0);
}

TEST(SignSimilarity, AddsArraysUp) {
    SignSimilarity similarity;
    similarity.add(Numbers{-1, -2, -3}, Numbers{-1, -2, -3});
    similarity.add(Numbers{4, 0, -3}, Numbers{4, 3, -3});
    EXPECT_NEAR(similarity.rarer_cosine(), 4 / 5.0, 1e-6);
}

TEST(SignSimilarity, HasNoneWhereThereIsNothingToCompare) {
    EXPECT_TRUE(std::isnan(rarer_cosine({1, 2, 0}, {1, 2, 0})));
    EXPECT_TRUE(std::isnan(rarer_cosine({-1, 0}, {-1, 0})));
    EXPECT_TRUE(std::isnan(rarer_cosine({}, {})));
    const float infinity = std::numeric_limits<float>::infinity();
    EXPECT_TRUE(std::isnan(rarer_cosine({1, 1, 1}, {1, 1, -infinity})));
}

TEST(SignSimilarity, IgnoresWhatRoundingLeavesOfZeros) {
    const float least = 1.0f / (1 << 12);
    EXPECT_TRUE(std::isnan(rarer_cosine({1, 1, 0}, {1, 1, -0.99f * least})));
    EXPECT_EQ(rarer_cosine({1, 1, 0}, {1, 1, -1.01f * least}), 0);
}

double share_of(const Numbers& values, const Numbers& reference, std::size_t choices,
                std::size_t inner = 1, double tie = 0) {
    DecisionSimilarity similarity(tie);
    similarity.add(values, reference, choices, inner);
    return similarity.share();
}

TEST(DecisionSimilarity, CountsPlacesOfTheGreatestNumber) {
    const Numbers reference = {1, 5, 3, 9, 2, 8};
    EXPECT_EQ(share_of({0, 2, 1, 7, 6, 6}, reference, 3), 1);
    EXPECT_EQ(share_of({0, 2, 1, 7, 6, 7.5}, reference, 3), 0.5);
    EXPECT_EQ(share_of({3, 2, 1, 7, 6, 7.5}, reference, 3), 0);
    EXPECT_EQ(share_of({-3, -2, -3, 7, 6, 1}, reference, 3), 1) << "below zero is a number, too";
}

TEST(DecisionSimilarity, CountsNumbersOnTheSameSideOfAThreshold) {
    DecisionSimilarity similarity(0.01);
    EXPECT_TRUE(std::isnan(similarity.share()));
    const float none = std::numeric_limits<float>::quiet_NaN();
    similarity.add_each(Numbers{0.6f, 0.4f, 0.4f, 0.9f, 0.7f},
                        Numbers{0.9f, 0.1f, 0.7f, 0.2f, none}, 0.5f);
    EXPECT_EQ(similarity.share(), 0.5) << "of the four finite ones";
    similarity.add_each(Numbers{0.49f, none}, Numbers{0.511f, 0.9f}, 0.5f);
    EXPECT_EQ(similarity.share(), 2 / 6.0) << "one that is no number is on neither side";
    similarity.add_each(Numbers{0.2f, 0.8f}, Numbers{0.509f, 0.491f}, 0.5f);
    EXPECT_EQ(similarity.share(), 4 / 8.0) << "float prefers neither side clearly";
    EXPECT_LT(similarity.expected_share(), 1);
}

TEST(DecisionSimilarity, TakesTheFirstOfEqualNumbersAsReadersDo) {
    EXPECT_EQ(share_of({2, 2}, {1, 5}, 2), 0);
    EXPECT_EQ(share_of({2, 2}, {5, 1}, 2), 1);
}

TEST(DecisionSimilarity, ChoosesAlongAnAxisInTheMiddle) {
    // Two images of two choices at three places.
    const Numbers reference = {1, 5, 3, 9, 2, 8, 1, 2, 3, 4, 5, 6};
    EXPECT_EQ(share_of(reference, reference, 2, 3), 1);
    EXPECT_EQ(share_of({9, 5, 3, 1, 2, 8, 1, 2, 3, 4, 5, 6}, reference, 2, 3), 5 / 6.0);
    EXPECT_EQ(share_of({9, 5, 3, 1, 2, 8, 4, 5, 6, 1, 2, 3}, reference, 2, 3), 2 / 6.0);
}

TEST(DecisionSimilarity, TakesNumbersThatAreAboutEqualForOneChoice) {
    const Numbers reference = {0, 0.95f, 1};
    EXPECT_EQ(share_of({0, 2, 1}, reference, 3, 1, 0.049), 0);
    EXPECT_EQ(share_of({0, 2, 1}, reference, 3, 1, 0.051), 1);
    EXPECT_EQ(share_of({0, 2, 1}, {0, 0.0095f, 0.01f}, 3, 1, 0.049), 0) << "of the range";
    EXPECT_EQ(share_of({0, 2, 1}, {0, 0.0095f, 0.01f}, 3, 1, 0.051), 1);
    EXPECT_EQ(share_of({1, 0, 1}, {2, 2, 2}, 3), 1);
}

TEST(DecisionSimilarity, LooksNotAtNumbersFarBelow) {
    EXPECT_EQ(share_of({0, 2, 1}, {-90, 9.98f, 10}, 3, 1, 0.019), 0);
    EXPECT_EQ(share_of({0, 2, 1}, {-90, 9.98f, 10}, 3, 1, 0.021), 1);
    EXPECT_EQ(share_of({0, 2, 1}, {-1e9f, 9.98f, 10}, 3, 1, 0.019), 0);
}

TEST(DecisionSimilarity, HasNoneWhereTheReferenceDecidesNothing) {
    const float infinity = std::numeric_limits<float>::infinity();
    const float none = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(std::isnan(share_of({}, {}, 2)));
    EXPECT_TRUE(std::isnan(share_of({1, 2}, {none, none}, 2)));
    EXPECT_TRUE(std::isnan(share_of({1, 2}, {infinity, 1}, 2)));
    EXPECT_EQ(share_of({1, 2}, {-infinity, 1}, 2, 1, 1), 1);
    EXPECT_EQ(share_of({2, 1}, {-infinity, 1}, 2, 1, 0.5), 0);
    EXPECT_EQ(share_of({none, none}, {1, 2}, 2), 0) << "and no number is the wrong one";
}

TEST(DecisionSimilarity, AddsArraysUp) {
    DecisionSimilarity similarity(0);
    similarity.add(Numbers{1, 2}, Numbers{1, 2}, 2, 1);
    similarity.add(Numbers{1, 2}, Numbers{2, 1}, 2, 1);
    EXPECT_EQ(similarity.share(), 0.5);
}

double expected_of(const Numbers& values, const Numbers& reference, std::size_t choices,
                   double tie = 0) {
    DecisionSimilarity similarity(tie);
    similarity.add(values, reference, choices, 1);
    return similarity.expected_share();
}

TEST(ExpectedDecisions, HoldLeadsAgainstTheirErrors) {
    // Leads of 1 and 2, with errors of 0.5: of the first, 1 in 44 is another one.
    EXPECT_NEAR(expected_of({0, 1.5f, 5, 6.5f}, {0, 1, 4, 6}, 2),
                1 - (0.022750132 + 0.000031671) / 2, 1e-6);
    EXPECT_EQ(share_of({0, 1.5f, 5, 6.5f}, {0, 1, 4, 6}, 2), 1);
    // The deviation is that of all leads together.
    EXPECT_NEAR(expected_of({0, 1, 4, 4}, {0, 1, 4, 6}, 2), 1 - (0.239750061 + 0.078649604) / 2,
                1e-6);
}

TEST(ExpectedDecisions, CountEachNextNumber) {
    constexpr double one = 1 - 0.022750132;
    EXPECT_NEAR(expected_of({1.5f, 0, 0}, {1, 0, 0}, 3), one * one, 1e-6);
    // With an error in the least lead only: 1 less than it would be for the second one.
    EXPECT_NEAR(expected_of({1.5f, -1, 0, -1}, {1, -1, 0, -1}, 4), one * std::pow(1 - 3.1671e-5, 2),
                1e-6);
}

TEST(ExpectedDecisions, AreNearTheTruthOfManyNearChoices) {
    constexpr std::size_t choices = 100;
    std::mt19937 random(7);
    const auto share_and_estimate = [&](std::size_t decisions, float error) {
        std::normal_distribution<float> normal;
        DecisionSimilarity similarity(0);
        for (std::size_t count = 0; count < decisions; ++count) {
            Numbers reference(choices), values(choices);
            for (std::size_t at = 0; at < choices; ++at) {
                reference[at] = normal(random) + (at == 3 ? 4.0f : 0.0f);
                values[at] = reference[at] + error * normal(random);
            }
            similarity.add(values, reference, choices, 1);
        }
        return std::pair(similarity.share(), similarity.expected_share());
    };
    for (const float error : {0.1f, 0.3f, 0.6f}) {
        const double truth = share_and_estimate(20000, error).first;
        const double estimate = share_and_estimate(1000, error).second;
        EXPECT_LT(estimate, truth + 0.01) << error;
        // The error of the greatest number is in all its leads, and counts in each.
        EXPECT_GT(estimate, 1 - 1.5 * (1 - truth)) << error;
    }
}

TEST(ExpectedDecisions, IgnoreNumbersFarBelow) {
    EXPECT_NEAR(expected_of({-100, 0, 1.5f}, {-7, 0, 1}, 3), 1 - 0.022750132, 1e-6);
    EXPECT_NEAR(expected_of({1.5f, 0, -100}, {1, 0, -7}, 3), 1 - 0.022750132, 1e-6);
}

TEST(ExpectedDecisions, PassOverWhatIsAsGood) {
    EXPECT_NEAR(expected_of({9, 0, 1.5f}, {0.96f, 0, 1}, 3, 0.05), 1 - 0.022750132, 1e-6);
    EXPECT_NEAR(expected_of({9, 0, 1.5f}, {1, 0, 1}, 3),
                1 - 0.5 * std::erfc(1 / (8 * std::numbers::sqrt2)), 1e-6)
        << "equal numbers";
    EXPECT_TRUE(std::isnan(expected_of({1, 2}, {2, 2}, 2))) << "none has a lead";
    // A decision without a lead cannot become another one.
    EXPECT_NEAR(expected_of({0, 1.5f, 3, 3}, {0, 1, 3, 3}, 2), 1 - 0.022750132 / 2, 1e-6);
}

TEST(ExpectedDecisions, AreSureWithoutAnError) {
    EXPECT_EQ(expected_of({3, 4, 8}, {3, 4, 8}, 3), 1);
    EXPECT_EQ(expected_of({0, 1, 5}, {3, 4, 8}, 3), 1) << "all are lower by the same";
}

TEST(ExpectedDecisions, NeedFiniteNumbers) {
    const float infinity = std::numeric_limits<float>::infinity();
    const float none = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(std::isnan(expected_of({}, {}, 2)));
    EXPECT_TRUE(std::isnan(expected_of({1, 2}, {-infinity, 2}, 2)));
    EXPECT_TRUE(std::isnan(expected_of({none, 2}, {1, 2}, 2)));
    EXPECT_TRUE(std::isnan(expected_of({1, 2}, {none, none}, 2)));
}

TEST(ExpectedDecisions, AreForFewDecisions) {
    DecisionSimilarity similarity(0);
    for (std::size_t count = 0; count < DecisionSimilarity::most_estimated; ++count)
        similarity.add(Numbers{1, 3}, Numbers{1, 2}, 2, 1);
    EXPECT_NEAR(similarity.expected_share(), 1 - 0.158655254, 1e-6);
    similarity.add(Numbers{1, 3}, Numbers{1, 2}, 2, 1);
    EXPECT_TRUE(std::isnan(similarity.expected_share()));
    EXPECT_EQ(similarity.share(), 1);
}

double logits_of(const Numbers& values, const Numbers& reference, std::size_t choices) {
    LogitSimilarity similarity;
    similarity.add(values, reference, choices);
    return similarity.nearness();
}

TEST(LogitSimilarity, ComparesProbabilities) {
    EXPECT_EQ(logits_of({1, 2, 3, 4}, {1, 2, 3, 4}, 2), 1);
    EXPECT_NEAR(logits_of({11, 12, 13}, {1, 2, 3}, 3), 1, 1e-6) << "a sum for all changes nothing";
    // Probabilities of 0.9526 and 0.0474, exchanged.
    EXPECT_NEAR(logits_of({3, 0}, {0, 3}, 2), 2 * 0.952574 * 0.047426 / 0.909647, 1e-5);
    EXPECT_LT(logits_of({0, 0.5f, 0}, {0, 3, 0}, 3), 0.9) << "less sure";
}

TEST(LogitSimilarity, CountsTwiceWhatChoicesLose) {
    // A lead of 1 with an error of 2: of 0.731 with one of 0.269, 0.3085 choose the other one.
    EXPECT_NEAR(logits_of({0, 3}, {0, 1}, 2), 1 - 2 * 0.308538 * 0.731059 * 0.632121, 1e-5);
    LogitSimilarity many;
    for (std::size_t count = 0; count <= LogitSimilarity::most_estimated; ++count)
        many.add(count % 100 ? Numbers{0, 1} : Numbers{1.5f, 1}, Numbers{0, 1}, 2);
    EXPECT_NEAR(many.nearness(), 1 - 2 * 0.731059 * 0.632121 * 11 / 1001, 1e-5);
}

TEST(LogitSimilarity, FindsNumbersInASmallRangeNear) {
    EXPECT_GT(logits_of({0.02f, 0.01f, -0.03f, 0.02f}, {0.01f, 0.02f, -0.02f, 0.01f}, 4), 0.995);
}

TEST(LogitSimilarity, NeedsFiniteNumbers) {
    const float infinity = std::numeric_limits<float>::infinity();
    const float none = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(std::isnan(logits_of({}, {}, 2)));
    EXPECT_TRUE(std::isnan(logits_of({1, 2}, {none, 2}, 2)));
    EXPECT_TRUE(std::isnan(logits_of({1, 2}, {infinity, 2}, 2)));
    EXPECT_LE(logits_of({none, none}, {1, 2}, 2), 0);
    EXPECT_LE(logits_of({1, infinity}, {1, 2}, 2), 0);
    // One vector of two has no choice; float gives its own one 0.7311.
    EXPECT_NEAR(logits_of({0, 1, none, none}, {0, 1, 0, 1}, 2), 1 - 0.731059, 1e-5);
}

TEST(LogitSimilarity, ExpectsWhatManyVectorsLose) {
    std::mt19937 random(11);
    std::normal_distribution<float> normal;
    const auto nearness = [&](std::size_t vectors, float error) {
        LogitSimilarity similarity;
        for (std::size_t count = 0; count < vectors; ++count) {
            Numbers reference(7), values(7);
            for (std::size_t at = 0; at < 7; ++at) {
                reference[at] = 2 * normal(random);
                values[at] = reference[at] + error * normal(random);
            }
            similarity.add(values, reference, 7);
        }
        return similarity.nearness();
    };
    // As in AreNearTheTruthOfManyNearChoices, a loss is rather over- than underestimated.
    for (const float error : {0.2f, 0.4f}) {
        const double estimated = 1 - nearness(1000, error), counted = 1 - nearness(20000, error);
        EXPECT_GT(estimated, 0.9 * counted) << error;
        EXPECT_LT(estimated, 1.5 * counted) << error;
    }
}

} // namespace
} // namespace overtake::compiler
