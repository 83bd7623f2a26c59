// SPDX-License-Identifier: MIT
#include "compiler/quantise/histogram.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace overtake::compiler;

namespace {

Histogram of(const std::vector<float>& data) {
    Histogram histogram;
    EXPECT_TRUE(histogram.look(data));
    histogram.count(data);
    return histogram;
}

std::vector<float> normal(std::size_t count, float size) {
    std::mt19937 random(1);
    std::normal_distribution<float> distribution(0, size);
    std::vector<float> data(count);
    for (float& element : data)
        element = distribution(random);
    return data;
}

} // namespace

TEST(Histogram, MinMaxIsWhatWasSeen) {
    const Histogram histogram = of({-2, 0.5f, 7});
    EXPECT_EQ(histogram.min_max().low, -2);
    EXPECT_EQ(histogram.min_max().high, 7);
}

TEST(Histogram, WhatIsNotFiniteIsNoticed) {
    Histogram histogram;
    EXPECT_FALSE(histogram.look({1, INFINITY}));
    EXPECT_FALSE(histogram.look({NAN}));
}

TEST(Histogram, PercentileLeavesOutThatPartAtEachEnd) {
    std::vector<float> data(10001);
    for (std::size_t index = 0; index < data.size(); ++index)
        data[index] = static_cast<float>(index) - 5000;
    const Range range = of(data).percentile(99);
    EXPECT_NEAR(range.low, -4900, 4);
    EXPECT_NEAR(range.high, 4900, 4);
    const Range all = of(data).percentile(100);
    EXPECT_NEAR(all.low, -5000, 3);
    EXPECT_NEAR(all.high, 5000, 3);
}

TEST(Histogram, DivergenceCutsOffALoneOutlier) {
    std::vector<float> data = normal(100000, 1);
    data.push_back(100);
    const Range range = of(data).least_divergence();
    EXPECT_LT(range.high, 20);
    EXPECT_GT(range.high, 3);
    EXPECT_LT(range.low, -3);
}

/// With so few values the shape is random.
TEST(Histogram, DivergenceCutsNothingOffOfFewerValuesThanBins) {
    std::vector<float> data = normal(200, 1);
    data.push_back(100);
    const Range range = of(data).least_divergence();
    EXPECT_EQ(range.high, 100);
    EXPECT_EQ(range.low, *std::ranges::min_element(data));
}

TEST(Histogram, DivergenceKeepsWhatIsFull) {
    std::mt19937 random(1);
    std::uniform_real_distribution<float> uniform(-1, 3);
    std::vector<float> data(100000);
    for (float& element : data)
        element = uniform(random);
    const Range range = of(data).least_divergence();
    EXPECT_GT(range.high, 2.9f);
    EXPECT_LT(range.low, -0.99f);
}

TEST(Histogram, LeastErrorOfANormalDistributionIsNearFourDeviations) {
    const Range range = of(normal(300000, 2)).least_error();
    EXPECT_NEAR(range.low, -7.8f, 0.6f); // 8 bits would have 3.9
    EXPECT_NEAR(range.high, 7.8f, 0.6f);
}

TEST(Histogram, ErrorOfARangeIsThatOfRoundingAndOfSaturating) {
    const std::vector<float> data = normal(100000, 1);
    const Histogram histogram = of(data);
    const double step = 10.0 / 255, rounding = 100000 * step * step / 12;
    EXPECT_NEAR(histogram.squared_error({-5, 5}), rounding, 0.01 * rounding);
    double beyond = 0;
    for (float element : data)
        beyond += std::pow(std::max(std::abs(element) - 0.5f, 0.0f), 2.0);
    EXPECT_NEAR(histogram.squared_error({-0.5f, 0.5f}), beyond, 0.01 * beyond);
}

TEST(Histogram, LeastErrorCutsOneEndAlone) {
    std::vector<float> data = normal(1000000, 1);
    data.push_back(30);
    const Range range = of(data).least_error();
    EXPECT_LT(range.high, 25);
    EXPECT_GT(range.high, 3);
    EXPECT_LT(range.low, -3);
}

TEST(Histogram, LeastErrorSpendsNothingWhereTheFunctionIsFlat) {
    const Histogram histogram = of(normal(300000, 2));
    const Range behind_relu = histogram.least_error([](float x) { return std::max(x, 0.0f); });
    EXPECT_GT(behind_relu.low, -0.5f);
    EXPECT_GT(behind_relu.high, 6);
    const Range behind_sigmoid =
        histogram.least_error([](float x) { return 1 / (1 + std::exp(-x)); });
    EXPECT_GT(behind_sigmoid.low, histogram.least_error().low);
    EXPECT_LT(behind_sigmoid.high, histogram.least_error().high);
}

TEST(Histogram, DivergenceDoesNotCountZeros) {
    std::vector<float> data = normal(20000, 1);
    const Range without = of(data).least_divergence();
    data.resize(1000000, 0.0f);
    const Range with = of(data).least_divergence();
    EXPECT_EQ(without.low, with.low);
    EXPECT_EQ(without.high, with.high);
}

TEST(Histogram, OneValueOnlyHasARange) {
    for (float value : {0.0f, 3.0f, -2.0f}) {
        const Range range = of(std::vector<float>(100, value)).least_divergence();
        EXPECT_LE(range.low, value);
        EXPECT_GE(range.high, value);
        const Range rest = of(std::vector<float>(100, value)).percentile(99.9);
        EXPECT_LE(rest.low, value);
        EXPECT_GE(rest.high, value);
    }
}
