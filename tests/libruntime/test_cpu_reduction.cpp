// SPDX-License-Identifier: MIT
//
// Results of reductions, softmax and normalisation.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "cpu/operation.hpp"
#include "cpu_run.hpp"

namespace overtake::cpu {
namespace {

using Type = CpuOpType;
using Values = std::vector<float>;

void expect_float_equal(const Values& got, const Values& wanted, const std::string& what) {
    ASSERT_EQ(got.size(), wanted.size()) << what;
    for (std::size_t i = 0; i < got.size(); i++)
        EXPECT_FLOAT_EQ(got[i], wanted[i]) << what << " [" << i << "]";
}

Values reduce(Reduction function, std::vector<std::int64_t> axes, const Shape& shape,
              const Shape& output, const Values& in) {
    axes.insert(axes.begin(), static_cast<std::int64_t>(function));
    return run({Type::reduce, axes, {}, {shape}, output}, {in});
}

struct ReductionRow {
    const char* name;
    Reduction function;
    Values outputs;
};

// Along the middle axis of 2 x 3 x 2: 1 -2 4, 3 3 2, 5 1 5, 0.5 2 2.
const Values input{1, 3, -2, 3, 4, 2, 5, 0.5f, 1, 2, 5, 2};

const ReductionRow reduction_rows[] = {
    {"sum", Reduction::sum, {3, 8, 11, 4.5f}},
    {"mean", Reduction::mean, {1, 8.0f / 3, 11.0f / 3, 1.5f}},
    {"maximum", Reduction::maximum, {4, 3, 5, 2}},
    {"minimum", Reduction::minimum, {-2, 2, 1, 0.5f}},
    {"product", Reduction::product, {-8, 18, 25, 2}},
    {"sum of squares", Reduction::sum_of_squares, {21, 22, 51, 8.25f}},
    {"l1", Reduction::l1, {7, 8, 11, 4.5f}},
    {"l2", Reduction::l2, {4.5825757f, 4.6904158f, 7.1414284f, 2.8722813f}},
    {"log sum", Reduction::log_sum, {1.0986123f, 2.0794415f, 2.3978953f, 1.5040774f}},
    {"log sum exp", Reduction::log_sum_exp, {4.0509458f, 3.8619946f, 5.7022632f, 2.7989161f}},
    {"first greatest", Reduction::first_greatest, {2, 0, 0, 1}},
    {"last greatest", Reduction::last_greatest, {2, 1, 2, 2}},
    {"first least", Reduction::first_least, {1, 2, 1, 0}},
    {"last least", Reduction::last_least, {1, 2, 1, 0}},
};

TEST(CpuReduction, EachFunctionAlongOneAxis) {
    for (const ReductionRow& row : reduction_rows)
        expect_float_equal(reduce(row.function, {1}, {2, 3, 2}, {2, 1, 2}, input), row.outputs,
                           row.name);
}

TEST(CpuReduction, AlongSeveralAxesOrNone) {
    EXPECT_EQ(reduce(Reduction::sum, {0, 2}, {2, 3, 2}, {3}, input), (Values{9.5f, 4, 13}));
    EXPECT_EQ(reduce(Reduction::sum, {0, 1, 2}, {2, 3, 2}, {1}, input), Values{26.5f});
    EXPECT_EQ(reduce(Reduction::mean, {}, {2, 3, 2}, {2, 3, 2}, input), input);
    EXPECT_EQ(reduce(Reduction::mean, {2}, {2, 3, 2}, {2, 3}, input),
              (Values{2, 0.5f, 3, 2.75f, 1.5f, 3.5f}));
}

TEST(CpuReduction, TheFirstOrTheLastOfEqualElementsIsTaken) {
    const Values equal{2, 1, 2, 1, 2, 1};
    EXPECT_EQ(reduce(Reduction::first_greatest, {0}, {6}, {1}, equal), Values{0});
    EXPECT_EQ(reduce(Reduction::last_greatest, {0}, {6}, {1}, equal), Values{4});
    EXPECT_EQ(reduce(Reduction::first_least, {0}, {6}, {1}, equal), Values{1});
    EXPECT_EQ(reduce(Reduction::last_least, {0}, {6}, {1}, equal), Values{5});
}

TEST(CpuReduction, TheFirstElementIsTakenWhateverItIs) {
    // The first element is taken even if it is NaN, and no number replaces it.
    EXPECT_EQ(reduce(Reduction::first_greatest, {0}, {3}, {1}, {NAN, 1, 2}), Values{0});
    EXPECT_EQ(reduce(Reduction::last_least, {0}, {3}, {1}, {NAN, 1, 2}), Values{0});
    EXPECT_EQ(reduce(Reduction::first_greatest, {0}, {2}, {1}, {-infinity, -infinity}), Values{0});
    EXPECT_EQ(reduce(Reduction::last_greatest, {0}, {2}, {1}, {-infinity, -infinity}), Values{1});
}

TEST(CpuReduction, LogSumExpDoesNotOverflow) {
    expect_float_equal(reduce(Reduction::log_sum_exp, {0}, {3}, {1}, {1000, 1000, -infinity}),
                       {1000.6931f}, "large");
    expect_float_equal(reduce(Reduction::log_sum_exp, {0}, {3}, {1}, {-infinity, -1000, -1000}),
                       {-999.30685f}, "small");
    EXPECT_EQ(reduce(Reduction::log_sum_exp, {0}, {2}, {1}, {-infinity, -infinity}),
              Values{-infinity});
}

TEST(CpuReduction, SoftmaxAndItsLogarithmAlongOneAxis) {
    for (const Type type : {Type::softmax, Type::log_softmax}) {
        const Values got = run({type, {1}, {}, {{2, 3, 2}}, {2, 3, 2}}, {input});
        for (std::size_t outer = 0; outer < 2; outer++)
            for (std::size_t inner = 0; inner < 2; inner++) {
                const auto at = [&](std::size_t i) { return (outer * 3 + i) * 2 + inner; };
                double sum = 0;
                for (std::size_t i = 0; i < 3; i++)
                    sum += std::exp(double{input[at(i)]});
                for (std::size_t i = 0; i < 3; i++) {
                    const double part = std::exp(double{input[at(i)]}) / sum;
                    EXPECT_NEAR(got[at(i)], type == Type::softmax ? part : std::log(part), 1e-6);
                }
            }
    }
}

/// Rows and columns of any length; masked, equal and far apart.
TEST(CpuReduction, SoftmaxAgreesWithThatOfDoubles) {
    constexpr float masked = -std::numeric_limits<float>::infinity();
    for (const std::uint32_t length : {1u, 2u, 15u, 16u, 17u, 1000u})
        for (const std::uint32_t inner : {1u, 3u}) {
            Values in(2 * length * inner);
            for (std::size_t i = 0; i < in.size(); i++)
                in[i] = static_cast<float>((i * 7919) % 1013) * 0.1f - 40;
            if (length > 2)
                in[in.size() - 1] = masked;
            const Values got =
                run({Type::softmax, {1}, {}, {{2, length, inner}}, {2, length, inner}}, {in});
            for (std::size_t row = 0; row < 2 * inner; row++) {
                const auto at = [&](std::size_t i) {
                    return (row / inner * length + i) * inner + row % inner;
                };
                double greatest = masked, sum = 0;
                for (std::size_t i = 0; i < length; i++)
                    greatest = std::max(greatest, double{in[at(i)]});
                for (std::size_t i = 0; i < length; i++)
                    sum += std::exp(double{in[at(i)]} - greatest);
                for (std::size_t i = 0; i < length; i++) {
                    const double exact = std::exp(double{in[at(i)]} - greatest) / sum;
                    EXPECT_NEAR(got[at(i)], exact, exact * 1e-5 + 1e-37) << length << " " << i;
                }
            }
        }
    const Values far = run({Type::softmax, {0}, {}, {{3}}, {3}}, {{1000, -1000, masked}});
    EXPECT_EQ(far, (Values{1, 0, 0}));
}

TEST(CpuReduction, LogSoftmaxDoesNotOverflow) {
    const Values large = run({Type::log_softmax, {0}, {}, {{3}}, {3}}, {{1000, 1001, 999}});
    expect_float_equal(large, {-1.4076059f, -0.40760597f, -2.4076059f}, "large");
    expect_float_equal(run({Type::log_softmax, {0}, {}, {{3}}, {3}}, {{-1000, -1001, -999}}),
                       {-1.4076059f, -2.4076059f, -0.40760597f}, "small");
}

TEST(CpuReduction, NormalizeGivesEachRowMeanAndVariance) {
    // Rows of mean 2 and variance 5, and of mean 10 and variance 5; epsilon makes that 9.
    const Values in{-1, 1, 3, 5, 13, 11, 9, 7};
    EXPECT_EQ(run({Type::normalize, {1}, {4}, {{2, 4}}, {2, 4}}, {in}),
              (Values{-1, -1.0f / 3, 1.0f / 3, 1, 1, 1.0f / 3, -1.0f / 3, -1}));
    EXPECT_EQ(run({Type::normalize, {1}, {4}, {{2, 2, 2}, {4}}, {2, 2, 2}}, {in, {3, 6, 9, 12}}),
              (Values{-3, -2, 3, 12, 3, 2, -3, -12}));
    EXPECT_EQ(run({Type::normalize, {1}, {4}, {{2, 4}, {4}, {4}}, {2, 4}},
                  {in, {3, 6, 9, 12}, {100, 200, 300, 400}}),
              (Values{97, 198, 303, 412, 103, 202, 297, 388}));
    EXPECT_EQ(run({Type::normalize, {0}, {0}, {{4}}, {4}}, {{1, 1, 3, 3}}), (Values{-1, -1, 1, 1}));
}

} // namespace
} // namespace overtake::cpu
