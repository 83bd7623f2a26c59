// SPDX-License-Identifier: MIT
//
// Checks of recurrences, and that none allocates once it has run.
// tests/compiler/test_recurrence.py compares their results with numpy, form by form.
#include <gtest/gtest.h>

#include "cpu/operation.hpp"
#include "cpu_run.hpp"

namespace overtake::cpu {
namespace {

using Values = std::vector<float>;
constexpr auto sigmoid = static_cast<std::int64_t>(Unary::sigmoid);
constexpr auto tanh_ = static_cast<std::int64_t>(Unary::tangent_hyperbolic);

// Three steps, a batch of two, four features, a state of three, all optional inputs.
Operation lstm() {
    return {CpuOpType::recurrence,
            {2, 0, 31, 0, 0, sigmoid, tanh_, tanh_},
            Values(7, 0.0f),
            {{3, 2, 4}, {1, 12, 4}, {1, 12, 3}, {1, 24}, {2}, {1, 2, 3}, {1, 2, 3}, {1, 9}},
            {5, 1, 2, 3}};
}

TEST(CpuRecurrence, ShapesFitEachOther) {
    EXPECT_EQ(check(lstm()), "");
    for (std::size_t input = 0; input < lstm().inputs.size(); input++)
        for (std::size_t axis = 0; axis < lstm().inputs[input].size(); axis++)
            for (const int more : {-1, 1}) {
                Operation operation = lstm();
                operation.inputs[input][axis] += static_cast<std::uint32_t>(more);
                EXPECT_EQ(check(operation), "shapes do not fit each other") << input << ' ' << axis;
            }
    for (std::size_t axis = 0; axis < 4; axis++) {
        Operation operation = lstm();
        operation.output[axis]++;
        EXPECT_EQ(check(operation), "shapes do not fit each other");
    }
    Operation operation = lstm();
    operation.inputs.pop_back();
    EXPECT_EQ(check(operation), "shapes do not fit each other");
    operation.integers[2] = 15; // no peepholes
    EXPECT_EQ(check(operation), "");
}

TEST(CpuRecurrence, NumbersNameAKind) {
    const auto with = [](std::size_t index, std::int64_t number) {
        Operation operation = lstm();
        operation.integers[index] = number;
        return check(operation);
    };
    for (const std::int64_t number : {-1, 3})
        EXPECT_EQ(with(0, number), "no such kind");
    for (const std::int64_t number : {-1, 3})
        EXPECT_EQ(with(1, number), "no such kind");
    for (const std::int64_t number : {-1, 32})
        EXPECT_EQ(with(2, number), "no such kind");
    EXPECT_EQ(with(0, 1), "has cells, which only an LSTM has");
    EXPECT_EQ(with(7, -1), "no such function");
    EXPECT_EQ(with(7, static_cast<std::int64_t>(Unary::count)), "no such function");
    Operation operation = lstm();
    operation.integers.pop_back();
    EXPECT_EQ(check(operation), "has too few or too many functions");
    operation = lstm();
    operation.reals.pop_back();
    EXPECT_EQ(check(operation), "has too few or too many functions");
    operation = lstm();
    operation.reals[0] = -1;
    EXPECT_EQ(check(operation), "has a negative bound");
    operation.inputs.resize(2);
    EXPECT_EQ(check(operation), "needs three inputs and the numbers of its kind");
}

// A cell that is kept as it is: forget 1, input 0.
TEST(CpuRecurrence, AnLstmThatForgetsNothingKeepsItsCell) {
    Operation operation{
        CpuOpType::recurrence,
        {2, 0, 1 + 4 + 8, 0, 0, sigmoid, tanh_, static_cast<std::int64_t>(Unary::identity)},
        Values(7, 0.0f),
        {{2, 1, 1}, {1, 4, 1}, {1, 4, 1}, {1, 8}, {1, 1, 1}, {1, 1, 1}},
        {4, 1, 1, 1}};
    const Values bias{-100, 100, 100, 0, 0, 0, 0, 0}; // input, output, forget, cell
    EXPECT_EQ(run(operation, {{5, 6}, Values(4), Values(4), bias, {0.25f}, {7}}),
              (Values{7, 7, 7, 7}));
}

// Impossible lengths read and write nothing outside.
TEST(CpuRecurrence, OddLengthsEndWithTheSequence) {
    Operation operation{CpuOpType::recurrence,
                        {0, 1, 2, 0, 0, static_cast<std::int64_t>(Unary::identity)},
                        {0, 0, 0},
                        {{2, 3, 1}, {1, 1, 1}, {1, 1, 1}, {3}},
                        {3, 1, 3, 1}};
    const float nan = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(run(operation, {{1, 2, 3, 10, 20, 30}, {1}, {1}, {nan, -4, 1e30f}}),
              (Values{0, 0, 33, 0, 0, 30, 0, 0, 33}));
}

} // namespace
} // namespace overtake::cpu
