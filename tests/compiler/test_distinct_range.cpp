// SPDX-License-Identifier: MIT
#include "compiler/quantise/distinct_range.hpp"

#include <cmath>
#include <gtest/gtest.h>

using namespace overtake::compiler;

namespace {

float sigmoid(float x) {
    return 1 / (1 + std::exp(-x));
}

void expect_same(Range range, Range wanted) {
    EXPECT_EQ(range.low, wanted.low);
    EXPECT_EQ(range.high, wanted.high);
}

} // namespace

TEST(ToldApart, FlatEndsAreCutOff) {
    const Range below = distinct_range({-10000, 5}, sigmoid);
    EXPECT_NEAR(below.low, -6.2f, 0.7f); // there sigmoid is 1 / 510
    EXPECT_NEAR(below.high, 5, 0.3f);
    const Range both = distinct_range({-300, 200}, [](float x) { return std::tanh(x); });
    EXPECT_NEAR(both.low, -2.9f, 0.7f);
    EXPECT_NEAR(both.high, 2.9f, 0.7f);
    const Range powers = distinct_range({-500, 0}, [](float x) { return std::exp(x); });
    EXPECT_NEAR(powers.low, -6.2f, 0.7f);
    EXPECT_NEAR(powers.high, 0, 0.01f);
}

TEST(ToldApart, WhatIsCutOffMakesLessThanAStepOfTheResult) {
    for (float low : {-50.0f, -333.0f, -9000.0f}) {
        const Range kept = distinct_range({low, 7}, sigmoid);
        EXPECT_GT(kept.low, low);
        for (float x = low; x < kept.low; x += (kept.low - low) / 1000)
            EXPECT_LE(std::abs(sigmoid(x) - sigmoid(kept.low)), 1.0f / 255);
    }
}

TEST(ToldApart, ARangeThatIsUsedStays) {
    expect_same(distinct_range({-8, 8}, sigmoid), {-8, 8});
    expect_same(distinct_range({-1000, 1000}, [](float x) { return 2 * x; }), {-1000, 1000});
    expect_same(distinct_range({-900, 900}, [](float x) { return std::sin(x); }), {-900, 900});
    expect_same(distinct_range({0, 9000}, [](float x) { return sigmoid(x - 8990); }), {0, 9000});
}

TEST(ToldApart, WhatHasNoUsefulPartStays) {
    expect_same(distinct_range({-500, -400}, sigmoid), {-500, -400});
    expect_same(distinct_range({3, 3}, sigmoid), {3, 3});
    expect_same(distinct_range({-100, 100}, [](float) { return 1.0f; }), {-100, 100});
    expect_same(distinct_range({-1, 900}, [](float x) { return std::log(x); }), {-1, 900});
}

TEST(ToldApart, StepsDoNotBecomeFinerThanSumsCanBeScaledTo) {
    expect_same(distinct_range({-1e9f, 5}, sigmoid), {-1e9f, 5});
}
