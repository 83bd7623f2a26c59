// SPDX-License-Identifier: MIT
//
// How near numbers come to a reference, and those of its rarer sign.
#include "compiler/file/similarity.hpp"

#include <cmath>
#include <limits>
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

} // namespace
} // namespace overtake::compiler
