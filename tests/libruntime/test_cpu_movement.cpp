// SPDX-License-Identifier: MIT
//
// Results of operators that move, choose and mix elements, worked out by hand.
#include <cmath>

#include <gtest/gtest.h>

#include "cpu/operation.hpp"
#include "cpu_run.hpp"

namespace overtake::cpu {
namespace {

using Type = CpuOpType;
using Values = std::vector<float>;

const Values six{1, 2, 3, 4, 5, 6};
const Values twelve{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

TEST(CpuMovement, ACopyIsEqual) {
    EXPECT_EQ(run({Type::dequantize, {}, {}, {{2, 3}}, {2, 3}}, {six}), six);
}

TEST(CpuMovement, AViewStepsAlongEachAxis) {
    EXPECT_EQ(run({Type::view, {0, 1, 3}, {}, {{2, 3}}, {3, 2}}, {six}),
              (Values{1, 4, 2, 5, 3, 6}));
    EXPECT_EQ(run({Type::view, {5, -3, -1}, {}, {{2, 3}}, {2, 3}}, {six}),
              (Values{6, 5, 4, 3, 2, 1}));
    EXPECT_EQ(run({Type::view, {1, 0, 3}, {}, {{2, 3}}, {2, 2}}, {six}), (Values{2, 5, 2, 5}));
    // A view of 2 x 3 x 2 with the last axis first.
    EXPECT_EQ(run({Type::view, {0, 1, 6, 2}, {}, {{2, 3, 2}}, {2, 2, 3}}, {twelve}),
              (Values{1, 3, 5, 7, 9, 11, 2, 4, 6, 8, 10, 12}));
}

TEST(CpuMovement, GatherTakesRowsOfItsAxis) {
    EXPECT_EQ(run({Type::gather, {1}, {}, {{2, 3, 2}, {2}}, {2, 2, 2}}, {twelve, {2, -3}}),
              (Values{5, 6, 1, 2, 11, 12, 7, 8}));
    EXPECT_EQ(run({Type::gather, {0}, {}, {{2, 3}, {3}}, {3, 3}}, {six, {1, 0, -1}}),
              (Values{4, 5, 6, 1, 2, 3, 4, 5, 6}));
}

TEST(CpuMovement, GatherElementsTakesEachFromItsOwnPlace) {
    EXPECT_EQ(run({Type::gather_elements, {0}, {}, {{2, 3}, {2, 2}}, {2, 2}}, {six, {1, 0, -1, 1}}),
              (Values{4, 2, 4, 5}));
    EXPECT_EQ(run({Type::gather_elements, {1}, {}, {{2, 3}, {2, 2}}, {2, 2}}, {six, {2, 0, 1, -3}}),
              (Values{3, 1, 5, 4}));
}

TEST(CpuMovement, ScatterElementsWritesEachToItsOwnPlace) {
    const auto scatter = [](Scatter way) {
        return run({Type::scatter_elements,
                    {1, static_cast<std::int64_t>(way)},
                    {},
                    {{2, 3}, {2, 2}, {2, 2}},
                    {2, 3}},
                   {six, {2, 0, 1, -2}, {10, 20, -1, 7}});
    };
    EXPECT_EQ(scatter(Scatter::replace), (Values{20, 2, 10, 4, 7, 6}));
    EXPECT_EQ(scatter(Scatter::add), (Values{21, 2, 13, 4, 11, 6}));
    EXPECT_EQ(scatter(Scatter::multiply), (Values{20, 2, 30, 4, -35, 6}));
    EXPECT_EQ(scatter(Scatter::maximum), (Values{20, 2, 10, 4, 7, 6}));
    EXPECT_EQ(scatter(Scatter::minimum), (Values{1, 2, 3, 4, -1, 6}));
}

TEST(CpuMovement, ConcatJoinsAlongItsAxis) {
    EXPECT_EQ(run({Type::concat, {1}, {}, {{2, 1, 2}, {2, 2, 2}}, {2, 3, 2}},
                  {{21, 22, 23, 24}, {1, 2, 3, 4, 5, 6, 7, 8}}),
              (Values{21, 22, 1, 2, 3, 4, 23, 24, 5, 6, 7, 8}));
    EXPECT_EQ(run({Type::concat, {0}, {}, {{1, 2}, {2, 2}}, {3, 2}}, {{7, 8}, {1, 2, 3, 4}}),
              (Values{7, 8, 1, 2, 3, 4}));
}

TEST(CpuMovement, PaddingOfEachModeLiesOnBothSidesOfEachAxis) {
    const auto pad = [](Padding mode, const Values& reals) {
        return run({Type::pad, {static_cast<std::int64_t>(mode), 1, 2}, reals, {{2, 3}}, {4, 7}},
                   {six});
    };
    EXPECT_EQ(pad(Padding::constant, {9}), (Values{9, 9, 9, 9, 9, 9, 9, 9, 9, 1, 2, 3, 9, 9,
                                                   9, 9, 4, 5, 6, 9, 9, 9, 9, 9, 9, 9, 9, 9}));
    EXPECT_EQ(pad(Padding::constant, {})[0], 0);
    EXPECT_EQ(pad(Padding::edge, {}), (Values{1, 1, 1, 2, 3, 3, 3, 1, 1, 1, 2, 3, 3, 3,
                                              4, 4, 4, 5, 6, 6, 6, 4, 4, 4, 5, 6, 6, 6}));
    EXPECT_EQ(pad(Padding::reflect, {}), (Values{6, 5, 4, 5, 6, 5, 4, 3, 2, 1, 2, 3, 2, 1,
                                                 6, 5, 4, 5, 6, 5, 4, 3, 2, 1, 2, 3, 2, 1}));
    EXPECT_EQ(pad(Padding::wrap, {}), (Values{5, 6, 4, 5, 6, 4, 5, 2, 3, 1, 2, 3, 1, 2,
                                              5, 6, 4, 5, 6, 4, 5, 2, 3, 1, 2, 3, 1, 2}));
}

TEST(CpuMovement, NegativePaddingCutsOff) {
    EXPECT_EQ(run({Type::pad, {0, 0, -1}, {9}, {{2, 3}}, {2, 3}}, {six}),
              (Values{2, 3, 9, 5, 6, 9}));
}

TEST(CpuMovement, AnInterpolatedPositionIsAWeightedSum) {
    // Along the middle axis of 2 x 3 x 2: a quarter of one position and three quarters of another.
    const Operation operation{
        Type::interpolate, {1, 2, 0, 1, 2, 1}, {0.25f, 0.75f, 1, 0}, {{2, 3, 2}}, {2, 2, 2}};
    EXPECT_EQ(run(operation, {twelve}), (Values{2.5f, 3.5f, 5, 6, 8.5f, 9.5f, 11, 12}));
    // A weight of 0 ignores its element, even infinity.
    Values broken = twelve;
    broken[2] = INFINITY;
    Operation skipping = operation;
    skipping.reals = {1, 0, 1, 0};
    EXPECT_EQ(run(skipping, {broken}), (Values{1, 2, 5, 6, 7, 8, 11, 12}));
}

TEST(CpuSelection, TopKIsInOrderAndTheFirstOfEqualElementsComesFirst) {
    const Values in{3, 1, 5, 1, 3, 1, 9, 2,  // two columns of four rows ...
                    0, 4, 0, 3, 0, 2, 0, 1}; // ... and two more
    const auto top = [&](std::int64_t greatest, std::int64_t indices) {
        return run({Type::top_k, {1, greatest, indices}, {}, {{2, 4, 2}}, {2, 3, 2}}, {in});
    };
    EXPECT_EQ(top(1, 0), (Values{9, 2, 5, 1, 3, 1, 0, 4, 0, 3, 0, 2}));
    EXPECT_EQ(top(1, 1), (Values{3, 3, 1, 0, 0, 1, 0, 0, 1, 1, 2, 2}));
    EXPECT_EQ(top(0, 0), (Values{3, 1, 3, 1, 5, 1, 0, 1, 0, 2, 0, 3}));
    EXPECT_EQ(top(0, 1), (Values{0, 0, 2, 1, 1, 2, 0, 3, 1, 2, 2, 1}));
}

TEST(CpuSelection, TopKPutsNaNLast) {
    for (const std::int64_t greatest : {0, 1})
        EXPECT_EQ(run({Type::top_k, {0, greatest, 1}, {}, {{4}}, {4}}, {{NAN, 1, NAN, 1}}),
                  (Values{1, 3, 0, 2}));
}

Operation suppression(std::int64_t centre, std::int64_t most, float overlap, float score,
                      const Shape& boxes, const Shape& scores, std::uint32_t rows) {
    return {
        Type::non_max_suppression, {centre, most}, {overlap, score}, {boxes, scores}, {rows, 3}};
}

/// Returns the rows of (batch, class, box) without unused ones.
Values kept(const Operation& operation, const std::vector<Values>& inputs) {
    Values rows = run(operation, inputs);
    while (!rows.empty() && rows.back() == -1)
        rows.pop_back();
    return rows;
}

// Boxes of 4 x 2: the second overlaps half of the first (1/3 of their union), the third is apart.
TEST(CpuSelection, BoxesThatOverlapABetterOneAreSuppressed) {
    const Values boxes{0, 0, 4, 2, 0, 1, 4, 3, 10, 10, 14, 12};
    const auto kept_at = [&](float overlap, float score, std::int64_t most, const Values& scores) {
        return kept(suppression(0, most, overlap, score, {1, 3, 4}, {1, 1, 3}, 3), {boxes, scores});
    };
    const Values scores{0.5f, 0.75f, 0.25f};
    EXPECT_EQ(kept_at(0.3f, 0, 9, scores), (Values{0, 0, 1, 0, 0, 2}));
    EXPECT_EQ(kept_at(0.35f, 0, 9, scores), (Values{0, 0, 1, 0, 0, 0, 0, 0, 2}));
    EXPECT_EQ(kept_at(0.35f, 0.25f, 9, scores), (Values{0, 0, 1, 0, 0, 0})) << "scores above";
    EXPECT_EQ(kept_at(0.35f, 0, 2, scores), (Values{0, 0, 1, 0, 0, 0})) << "most of a class";
    EXPECT_EQ(kept_at(0.35f, 0, 0, scores), Values{});
    EXPECT_EQ(kept_at(0.3f, 0, 9, {0.5f, 0.5f, 0.5f}), (Values{0, 0, 0, 0, 0, 2})) << "equals";
}

TEST(CpuSelection, BoxesThatOnlyTouchDoNotOverlap) {
    const Values boxes{0, 0, 2, 2, 2, 0, 4, 2, 0, 2, 2, 4, 9, 1, 7, 0};
    EXPECT_EQ(
        kept(suppression(0, 9, 0, 0, {1, 4, 4}, {1, 1, 4}, 4), {boxes, {0.4f, 0.3f, 0.2f, 0.1f}}),
        (Values{0, 0, 0, 0, 0, 1, 0, 0, 2, 0, 0, 3}));
}

TEST(CpuSelection, CornersComeInAnyOrder) {
    // One box four times, by its four pairs of opposite corners.
    const Values boxes{0, 0, 4, 2, 4, 2, 0, 0, 0, 2, 4, 0, 4, 0, 0, 2};
    EXPECT_EQ(kept(suppression(0, 9, 0.99f, 0, {1, 4, 4}, {1, 1, 4}, 4),
                   {boxes, {0.1f, 0.2f, 0.4f, 0.3f}}),
              (Values{0, 0, 2}));
}

TEST(CpuSelection, BoxesMayBeGivenByCentreAndSize) {
    // Centre x and y, width and height: 4 wide and 2 high, then 1 to the right, 1 down, 3 down.
    const Values boxes{5, 5, 4, 2, 6, 5, 4, 2, 5, 6, 4, 2, 5, 8, 4, 2};
    const Values scores{0.9f, 0.8f, 0.7f, 0.6f};
    const auto kept_at = [&](float overlap) {
        return kept(suppression(1, 9, overlap, 0, {1, 4, 4}, {1, 1, 4}, 4), {boxes, scores});
    };
    // Overlaps: 6 of 10, 4 of 12, none; the second and the third share 3 of 13.
    EXPECT_EQ(kept_at(0.61f), (Values{0, 0, 0, 0, 0, 1, 0, 0, 2, 0, 0, 3}));
    EXPECT_EQ(kept_at(0.59f), (Values{0, 0, 0, 0, 0, 2, 0, 0, 3}));
    EXPECT_EQ(kept_at(0.34f), (Values{0, 0, 0, 0, 0, 2, 0, 0, 3}));
    EXPECT_EQ(kept_at(0.33f), (Values{0, 0, 0, 0, 0, 3}));
    EXPECT_EQ(kept_at(0.0f), (Values{0, 0, 0, 0, 0, 3}));
}

TEST(CpuSelection, EachClassOfEachSampleIsSuppressedByItself) {
    const Values boxes{0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 5, 5, 6, 6}; // of 2 samples, 2 each
    const Values scores{0.9f, 0.8f, 0.1f, 0.2f, 0.3f, 0.4f, 0.0f, 0.5f};
    const std::vector<Values> inputs{boxes, scores};
    EXPECT_EQ(run(suppression(0, 9, 0.5f, 0, {2, 2, 4}, {2, 2, 2}, 6), inputs),
              (Values{0, 0, 0, 0, 1, 1, 1, 0, 1, 1, 0, 0, 1, 1, 1, -1, -1, -1}));
    EXPECT_EQ(run(suppression(0, 9, 0.5f, 0, {2, 2, 4}, {2, 2, 2}, 3), inputs),
              (Values{0, 0, 0, 0, 1, 1, 1, 0, 1}))
        << "there is room for three";
}

} // namespace
} // namespace overtake::cpu
