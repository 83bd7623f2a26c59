// SPDX-License-Identifier: MIT
//
// Results of operators of one, two and three elements, worked out by hand.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "cpu/operation.hpp"
#include "cpu_run.hpp"

namespace overtake::cpu {
namespace {

using Type = CpuOpType;
using Values = std::vector<float>;

/// Expects equality up to rounding; NaN equals NaN.
void expect_near(const Values& got, const Values& wanted, const std::string& what) {
    ASSERT_EQ(got.size(), wanted.size()) << what;
    for (std::size_t i = 0; i < got.size(); i++) {
        if (std::isnan(wanted[i]) || std::isinf(wanted[i]))
            EXPECT_TRUE(got[i] == wanted[i] || (std::isnan(got[i]) && std::isnan(wanted[i])))
                << what << " [" << i << "] is " << got[i];
        else
            EXPECT_NEAR(got[i], wanted[i], 2e-6 * std::max(1.0f, std::abs(wanted[i])))
                << what << " [" << i << "]";
    }
}

struct UnaryRow {
    const char* name;
    Unary function;
    Values reals;
    Values inputs;
    Values outputs;
};

const UnaryRow unary_rows[] = {
    {"identity", Unary::identity, {}, {-2, 0, 3}, {-2, 0, 3}},
    {"absolute", Unary::absolute, {}, {-2, 0, 3}, {2, 0, 3}},
    {"negate", Unary::negate, {}, {-2, 3}, {2, -3}},
    {"exponential", Unary::exponential, {}, {0, 1}, {1, 2.7182818f}},
    {"logarithm", Unary::logarithm, {}, {1, 2}, {0, 0.6931472f}},
    {"square root", Unary::square_root, {}, {9, 2}, {3, 1.4142136f}},
    {"reciprocal", Unary::reciprocal, {}, {4, -0.5f}, {0.25f, -2}},
    {"error function", Unary::error_function, {}, {0, 1}, {0, 0.8427008f}},
    {"tangent hyperbolic", Unary::tangent_hyperbolic, {}, {0, 1}, {0, 0.7615942f}},
    {"sigmoid", Unary::sigmoid, {}, {0, 2, -2}, {0.5f, 0.8807971f, 0.1192029f}},
    {"floor", Unary::floor, {}, {-1.5f, 1.5f}, {-2, 1}},
    {"ceiling", Unary::ceiling, {}, {-1.5f, 1.5f}, {-1, 2}},
    {"round to even", Unary::round, {}, {2.5f, 3.5f, -2.5f, 1.4f}, {2, 4, -2, 1}},
    {"sign", Unary::sign, {}, {-2, 0, 0.5f}, {-1, 0, 1}},
    {"sine", Unary::sine, {}, {0, 1}, {0, 0.8414710f}},
    {"cosine", Unary::cosine, {}, {0, 1}, {1, 0.5403023f}},
    {"tangent", Unary::tangent, {}, {0, 1}, {0, 1.5574077f}},
    {"arc sine", Unary::arc_sine, {}, {0, 0.5f}, {0, 0.5235988f}},
    {"arc cosine", Unary::arc_cosine, {}, {1, 0.5f}, {0, 1.0471976f}},
    {"arc tangent", Unary::arc_tangent, {}, {0, 1}, {0, 0.7853982f}},
    {"sine hyperbolic", Unary::sine_hyperbolic, {}, {0, 1}, {0, 1.1752012f}},
    {"cosine hyperbolic", Unary::cosine_hyperbolic, {}, {0, 1}, {1, 1.5430806f}},
    {"area sine", Unary::area_sine, {}, {0, 1}, {0, 0.8813736f}},
    {"area cosine", Unary::area_cosine, {}, {1, 2}, {0, 1.3169579f}},
    {"area tangent", Unary::area_tangent, {}, {0, 0.5f}, {0, 0.5493061f}},
    {"relu", Unary::relu, {}, {-2, 0, 3}, {0, 0, 3}},
    {"softplus", Unary::softplus, {}, {0, 1, 100}, {0.6931472f, 1.3132617f, 100}},
    {"softsign", Unary::softsign, {}, {3, -1}, {0.75f, -0.5f}},
    {"hard swish", Unary::hard_swish, {}, {1, 4, -4, -1}, {0.6666667f, 4, 0, -0.3333333f}},
    {"gelu", Unary::gelu, {}, {1, -1, 2}, {0.8413447f, -0.1586553f, 1.9544997f}},
    {"mish", Unary::mish, {}, {1, -1}, {0.8650984f, -0.3034015f}},
    {"logical not", Unary::logical_not, {}, {0, 2, -1}, {1, 0, 0}},
    {"is not a number", Unary::is_nan, {}, {NAN, 0, infinity}, {1, 0, 0}},
    {"truncate", Unary::truncate, {}, {-1.5f, 1.5f}, {-1, 1}},
    {"truth", Unary::truth, {}, {0, -3, 0.5f}, {0, 1, 1}},
    {"clip", Unary::clip, {-1, 2}, {-5, 1, 5}, {-1, 1, 2}},
    {"infinite", Unary::is_infinite, {}, {infinity, -infinity, 3}, {1, 1, 0}},
    {"infinite, not below", Unary::is_infinite, {1}, {infinity, -infinity, 3}, {1, 0, 0}},
    {"infinite, not above", Unary::is_infinite, {0, 1}, {infinity, -infinity, 3}, {0, 1, 0}},
    {"leaky relu", Unary::leaky_relu, {0.25f}, {-2, 0, 3}, {-0.5f, 0, 3}},
    {"elu", Unary::elu, {2}, {-1, 0, 3}, {-1.2642411f, 0, 3}},
    {"celu", Unary::celu, {2}, {-1, 0, 3}, {-0.7869387f, 0, 3}},
    {"selu", Unary::selu, {2, 3}, {-1, 0, 2}, {-3.7927234f, 0, 6}},
    {"hard sigmoid", Unary::hard_sigmoid, {0.25f, 0.5f}, {1, 5, -5}, {0.75f, 1, 0}},
    {"thresholded relu", Unary::thresholded_relu, {1}, {0.5f, 1, 1.5f}, {0, 0, 1.5f}},
    {"shrink", Unary::shrink, {1, 0.5f}, {-2, -1, 0.5f, 1, 2}, {-1.5f, 0, 0, 0, 1.5f}},
};

TEST(CpuElementwise, EachFunctionOfOneElement) {
    for (const UnaryRow& row : unary_rows) {
        const Shape shape{static_cast<std::uint32_t>(row.inputs.size())};
        expect_near(
            run({Type::unary, {static_cast<std::int64_t>(row.function)}, row.reals, {shape}, shape},
                {row.inputs}),
            row.outputs, row.name);
    }
}

struct BinaryRow {
    const char* name;
    Binary function;
    Values left;
    Values right;
    Values outputs;
};

const BinaryRow binary_rows[] = {
    {"add", Binary::add, {1, 2}, {10, -20}, {11, -18}},
    {"subtract", Binary::subtract, {1, 2}, {10, -20}, {-9, 22}},
    {"multiply", Binary::multiply, {3, 2}, {10, -20}, {30, -40}},
    {"divide", Binary::divide, {3, 1}, {-2, 0}, {-1.5f, infinity}},
    {"power", Binary::power, {2, 9}, {3, 0.5f}, {8, 3}},
    {"maximum", Binary::maximum, {1, 3, NAN, 1}, {2, 2, 1, NAN}, {2, 3, NAN, NAN}},
    {"minimum", Binary::minimum, {1, 3, NAN, 1}, {2, 2, 1, NAN}, {1, 2, NAN, NAN}},
    {"integer divide", Binary::integer_divide, {-7, 7, 7, 6}, {2, 2, 0, 1}, {-3, 3, 0, 6}},
    {"modulo", Binary::modulo, {-7, 7, 7, -6, 7}, {3, -3, 0, 3, 3}, {2, -2, 0, 0, 1}},
    {"floating modulo", Binary::floating_modulo, {-7, 7.5f}, {3, -3}, {-1, 1.5f}},
    {"equal", Binary::equal, {1, 2, 3}, {2, 2, 2}, {0, 1, 0}},
    {"less", Binary::less, {1, 2, 3}, {2, 2, 2}, {1, 0, 0}},
    {"less or equal", Binary::less_or_equal, {1, 2, 3}, {2, 2, 2}, {1, 1, 0}},
    {"greater", Binary::greater, {1, 2, 3}, {2, 2, 2}, {0, 0, 1}},
    {"greater or equal", Binary::greater_or_equal, {1, 2, 3}, {2, 2, 2}, {0, 1, 1}},
    {"and", Binary::logical_and, {0, 0, 3, 1}, {0, 2, 0, 1}, {0, 0, 0, 1}},
    {"or", Binary::logical_or, {0, 0, 3, 1}, {0, 1, 0, 1}, {0, 1, 1, 1}},
    {"xor", Binary::logical_xor, {0, 0, 3, 1}, {0, 1, 0, 2}, {0, 1, 1, 0}},
    {"parametric relu", Binary::parametric_relu, {-2, 0, 3}, {0.5f, 0.5f, 0.5f}, {-1, 0, 3}},
};

TEST(CpuElementwise, EachFunctionOfTwoElements) {
    for (const BinaryRow& row : binary_rows) {
        const Shape shape{static_cast<std::uint32_t>(row.left.size())};
        expect_near(run({Type::binary,
                         {static_cast<std::int64_t>(row.function)},
                         {},
                         {shape, shape},
                         shape},
                        {row.left, row.right}),
                    row.outputs, row.name);
    }
}

TEST(CpuElementwise, OperandsAreBroadcastAlongEachAxis) {
    const Values left{1, 2, 3, 4, 5, 6}; // 2 x 1 x 3
    const Values right{10, 20, 30, 40};  // 4 x 1
    const auto subtract = static_cast<std::int64_t>(Binary::subtract);
    const Values got =
        run({Type::binary, {subtract}, {}, {{2, 1, 3}, {4, 1}}, {2, 4, 3}}, {left, right});
    const Values turned =
        run({Type::binary, {subtract}, {}, {{4, 1}, {2, 1, 3}}, {2, 4, 3}}, {right, left});
    for (std::size_t i = 0; i < 2; i++)
        for (std::size_t j = 0; j < 4; j++)
            for (std::size_t k = 0; k < 3; k++) {
                EXPECT_EQ(got[(i * 4 + j) * 3 + k], left[i * 3 + k] - right[j]);
                EXPECT_EQ(turned[(i * 4 + j) * 3 + k], right[j] - left[i * 3 + k]);
            }
}

TEST(CpuElementwise, SigmoidIsExactToThreeUnitsInTheLastPlace) {
    const Values odd = {0,        -0.0f,     100,   -100, 87, -87, std::nextafter(-87.0f, -88.0f),
                        infinity, -infinity, 1e-30f};
    Values in = odd;
    for (float x = -86.9f; x < 90; x += 0.00037f)
        in.push_back(x);
    in.push_back(std::numeric_limits<float>::quiet_NaN());
    const auto size = static_cast<std::uint32_t>(in.size());
    const Values got =
        run({Type::unary, {static_cast<std::int64_t>(Unary::sigmoid)}, {}, {{size}}, {size}}, {in});
    const auto of_one = unary_function(Unary::sigmoid, {});
    for (std::size_t i = 0; i + 1 < in.size(); i++) {
        const double exact = 1 / (1 + std::exp(-double{in[i]}));
        const double unit = std::ldexp(1.0, std::max(std::ilogb(exact), -126) - 23);
        const double allowed = in[i] < -87 ? 1e-37 : 3 * unit;
        ASSERT_NEAR(got[i], exact, allowed) << in[i];
        ASSERT_EQ(got[i], of_one(in[i])) << in[i]; // with any vector instructions
    }
    EXPECT_TRUE(std::isnan(got.back()));
}

TEST(CpuElementwise, SelectTakesTheFirstWhereTheConditionHolds) {
    EXPECT_EQ(run({Type::select, {}, {}, {{3}, {2, 1}, {1}}, {2, 3}}, {{0, 1, -2}, {5, 6}, {9}}),
              (Values{9, 5, 5, 9, 6, 6}));
    EXPECT_EQ(run({Type::select, {}, {}, {{2, 1}, {1}, {3}}, {2, 3}}, {{0, 1}, {9}, {5, 6, 7}}),
              (Values{5, 6, 7, 9, 9, 9}));
}

} // namespace
} // namespace overtake::cpu
