// SPDX-License-Identifier: MIT
#include "compiler/quantise/best_method.hpp"

#include <cmath>
#include <gtest/gtest.h>

using namespace overtake::compiler;

TEST(BestMethod, AnErrorSeesScaleAndSaturation) {
    // An output that saturates at a tenth has the right direction, and an error of 0.9.
    EXPECT_GT(output_error(0.9f, 0.01f), output_error(0.2f, 0));
    EXPECT_GT(output_error(0.01f, 0.02f), output_error(0.02f, 0));
    EXPECT_EQ(output_error(1, 0), 0.5f); // the error of zeros
    EXPECT_GT(output_error(7, 0.5f), output_error(7, 0.4f));
    EXPECT_LT(output_error(7e6f, 0.5f), 1);
    EXPECT_EQ(output_error(NAN, 0.5f), 0);
}

TEST(BestMethod, IsTheOneWithTheLeastErrorOfOneOutput) {
    EXPECT_EQ(best_method({{0.3f}, {0.1f}, {0.2f}}), 1u);
    EXPECT_EQ(best_method({{0.1f}, {0.1f}}), 0u);
}

TEST(BestMethod, AnOutputThatIsFarOffWithAllDoesNotHideTheOthers) {
    EXPECT_EQ(best_method({{1, 0.4f}, {1, 0.01f}, {0.99f, 0.3f}}), 1u);
}

TEST(BestMethod, EveryOutputCounts) {
    EXPECT_EQ(best_method({{0.01f, 0.5f}, {0.1f, 0.1f}, {0.5f, 0.01f}}), 1u);
}

TEST(BestMethod, WithoutOutputsItIsTheFirst) {
    EXPECT_EQ(best_method({{}, {}}), 0u);
}
