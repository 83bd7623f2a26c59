// SPDX-License-Identifier: MIT
//
// Matrix products, convolutions and pools, compared with loops over their definitions.
#include <cmath>
#include <limits>
#include <string_view>

#include <gtest/gtest.h>

#include "cpu/convolution.hpp"
#include "cpu/operation.hpp"
#include "cpu_run.hpp"

namespace overtake::cpu {
namespace {

using Type = CpuOpType;
using Values = std::vector<float>;

/// Small whole numbers without a pattern, so that every sum is exact.
Values numbers(std::size_t count, int seed) {
    Values values(count);
    for (std::size_t i = 0; i < count; i++)
        values[i] = static_cast<float>((static_cast<int>(i) * 7 + seed) * (seed + 5) % 11 - 5);
    return values;
}

TEST(CpuProduct, MatricesOfABatch) {
    const Values a = numbers(2 * 2 * 3, 1), b = numbers(2 * 3 * 4, 2);
    const Values got =
        run({Type::matrix_product, {}, {}, {{2, 2, 3}, {2, 3, 4}}, {2, 2, 4}}, {a, b});
    for (std::size_t n = 0; n < 2; n++)
        for (std::size_t row = 0; row < 2; row++)
            for (std::size_t column = 0; column < 4; column++) {
                float sum = 0;
                for (std::size_t i = 0; i < 3; i++)
                    sum += a[(n * 2 + row) * 3 + i] * b[(n * 3 + i) * 4 + column];
                EXPECT_EQ(got[(n * 2 + row) * 4 + column], sum);
            }
}

TEST(CpuProduct, BatchesAreBroadcast) {
    // Batches of 2 x 1 and of 3, which make 2 x 3.
    const Values a = numbers(2 * 2 * 3, 1), b = numbers(3 * 3 * 4, 2);
    const Values got =
        run({Type::matrix_product, {}, {}, {{2, 1, 2, 3}, {3, 3, 4}}, {2, 3, 2, 4}}, {a, b});
    for (std::size_t n = 0; n < 6; n++)
        for (std::size_t row = 0; row < 2; row++)
            for (std::size_t column = 0; column < 4; column++) {
                float sum = 0;
                for (std::size_t i = 0; i < 3; i++)
                    sum += a[(n / 3 * 2 + row) * 3 + i] * b[(n % 3 * 3 + i) * 4 + column];
                EXPECT_EQ(got[(n * 2 + row) * 4 + column], sum) << n;
            }
    const Values single = run({Type::matrix_product, {}, {}, {{2, 3}, {3, 1}}, {2, 1}},
                              {{1, 2, 3, 4, 5, 6}, {1, 10, 100}});
    EXPECT_EQ(single, (Values{321, 654}));
}

/// Two spatial axes; `in`, `out` and `kernel` are their sizes.
struct Window {
    const char* name;
    bool transposed;
    std::int64_t groups;
    std::int64_t strides[2], dilations[2], pads[2];
    std::uint32_t batch, in_channels, out_channels;
    std::uint32_t in[2], out[2], kernel[2];
};

/// Calls visit(tap, large y, large x) for each tap of the small side's pixel that lies inside the
/// large side.
template <typename Visit>
void for_each_tap(const Window& w, std::uint32_t y, std::uint32_t x,
                  const std::uint32_t (&large)[2], Visit visit) {
    for (std::uint32_t ky = 0; ky < w.kernel[0]; ky++)
        for (std::uint32_t kx = 0; kx < w.kernel[1]; kx++) {
            const std::int64_t at_y = y * w.strides[0] + ky * w.dilations[0] - w.pads[0];
            const std::int64_t at_x = x * w.strides[1] + kx * w.dilations[1] - w.pads[1];
            if (at_y >= 0 && at_y < large[0] && at_x >= 0 && at_x < large[1])
                visit(ky * w.kernel[1] + kx, static_cast<std::size_t>(at_y),
                      static_cast<std::size_t>(at_x));
        }
}

/// Returns a convolution by its definition: each pixel of the output is a sum.  In a transposed
/// one, each pixel of the input is spread.
Values convolved(const Window& w, const Values& in, const Values& weights, const Values& bias) {
    const std::size_t area = std::size_t{w.out[0]} * w.out[1];
    Values out(w.batch * w.out_channels * area);
    for (std::size_t i = 0; i < out.size(); i++)
        out[i] = bias.empty() ? 0 : bias[i / area % w.out_channels];
    const std::size_t groups = static_cast<std::size_t>(w.groups);
    const std::size_t ins = w.in_channels / groups, outs = w.out_channels / groups;
    const auto& small = w.transposed ? w.in : w.out;
    const auto& large = w.transposed ? w.out : w.in;
    const std::size_t taps = std::size_t{w.kernel[0]} * w.kernel[1];
    for (std::size_t n = 0; n < w.batch; n++)
        for (std::size_t o = 0; o < w.out_channels; o++)
            for (std::size_t i = 0; i < ins; i++)
                for (std::uint32_t y = 0; y < small[0]; y++)
                    for (std::uint32_t x = 0; x < small[1]; x++) {
                        const std::size_t channel = o / outs * ins + i;
                        const std::size_t at_small = std::size_t{y} * small[1] + x;
                        for_each_tap(
                            w, y, x, large,
                            [&](std::size_t tap, std::size_t at_y, std::size_t at_x) {
                                const std::size_t at_large = at_y * large[1] + at_x;
                                const std::size_t weight =
                                    w.transposed ? (channel * outs + o % outs) * taps + tap
                                                 : (o * ins + i) * taps + tap;
                                const std::size_t from = w.transposed ? at_small : at_large;
                                const std::size_t to = w.transposed ? at_large : at_small;
                                out[(n * w.out_channels + o) * area + to] +=
                                    weights[weight] *
                                    in[(n * w.in_channels + channel) * w.in[0] * w.in[1] + from];
                            });
                    }
    return out;
}

const Window windows[] = {
    {"plain", false, 1, {1, 1}, {1, 1}, {0, 0}, 1, 2, 3, {4, 5}, {3, 3}, {2, 3}},
    {"of one tap", false, 1, {1, 1}, {1, 1}, {0, 0}, 2, 3, 2, {2, 3}, {2, 3}, {1, 1}},
    {"strides", false, 1, {2, 3}, {1, 1}, {0, 0}, 2, 2, 3, {5, 8}, {2, 3}, {2, 2}},
    {"dilations", false, 1, {1, 1}, {2, 3}, {0, 0}, 1, 2, 2, {5, 8}, {3, 5}, {2, 2}},
    {"padding", false, 1, {1, 2}, {1, 1}, {1, 2}, 1, 2, 2, {3, 4}, {4, 4}, {3, 3}},
    {"padding cut off", false, 1, {1, 1}, {1, 1}, {-1, -2}, 1, 1, 2, {5, 6}, {3, 3}, {2, 2}},
    {"groups", false, 2, {1, 2}, {1, 1}, {1, 0}, 2, 4, 6, {3, 5}, {3, 2}, {3, 2}},
    {"one channel each", false, 3, {1, 1}, {1, 1}, {1, 1}, 1, 3, 3, {3, 4}, {3, 4}, {3, 3}},
    {"transposed", true, 1, {1, 1}, {1, 1}, {0, 0}, 1, 2, 3, {3, 2}, {4, 4}, {2, 3}},
    {"transposed, strides", true, 1, {2, 3}, {1, 1}, {0, 0}, 2, 2, 3, {2, 3}, {4, 8}, {2, 2}},
    {"transposed, padding", true, 1, {2, 2}, {1, 2}, {1, 2}, 1, 2, 2, {3, 3}, {5, 5}, {3, 3}},
    {"transposed, groups", true, 2, {2, 1}, {1, 1}, {0, 1}, 2, 4, 6, {2, 3}, {4, 3}, {2, 3}},
    // Channels that fill vectors of eight and sixteen, and channels that do not.
    {"wide", false, 1, {1, 1}, {1, 1}, {1, 1}, 1, 32, 16, {6, 7}, {6, 7}, {3, 3}},
    {"nearly wide", false, 1, {1, 1}, {1, 1}, {1, 1}, 2, 17, 9, {5, 6}, {5, 6}, {3, 3}},
    {"wide, one tap, strides", false, 1, {2, 2}, {1, 1}, {0, 0}, 1, 16, 24, {7, 7}, {4, 4}, {1, 1}},
    {"three channels to many", false, 1, {2, 2}, {1, 1}, {1, 1}, 1, 3, 32, {9, 9}, {5, 5}, {3, 3}},
    {"wide, dilations", false, 1, {1, 1}, {2, 2}, {2, 2}, 1, 16, 16, {7, 7}, {7, 7}, {3, 3}},
    {"wide, groups", false, 4, {1, 1}, {1, 1}, {1, 1}, 1, 32, 64, {5, 5}, {5, 5}, {3, 3}},
    {"depthwise", false, 16, {1, 1}, {1, 1}, {1, 1}, 2, 16, 16, {6, 5}, {6, 5}, {3, 3}},
    {"depthwise, a rest", false, 19, {2, 2}, {1, 1}, {1, 1}, 1, 19, 19, {7, 7}, {4, 4}, {3, 3}},
    {"one row", false, 1, {1, 1}, {1, 1}, {0, 1}, 1, 16, 16, {1, 9}, {1, 9}, {1, 3}},
    {"one column", false, 1, {1, 1}, {1, 1}, {1, 0}, 1, 16, 16, {9, 1}, {9, 1}, {3, 1}},
    {"one pixel", false, 1, {1, 1}, {1, 1}, {0, 0}, 3, 24, 10, {1, 1}, {1, 1}, {1, 1}},
    {"windows in padding", false, 1, {2, 2}, {1, 1}, {0, 2}, 1, 1, 1, {2, 2}, {1, 1}, {1, 3}},
    {"taps beyond both sides", false, 1, {1, 1}, {3, 3}, {1, 1}, 1, 8, 8, {2, 2}, {1, 1}, {2, 2}},
    {"many taps", false, 1, {1, 1}, {1, 1}, {0, 600}, 1, 2, 3, {1, 1500}, {1, 1500}, {1, 1201}},
    {"only padding", false, 1, {1, 1}, {1, 1}, {3, 3}, 1, 8, 8, {2, 2}, {6, 6}, {3, 3}},
    {"transposed, wide", true, 1, {2, 2}, {1, 1}, {1, 1}, 1, 16, 24, {5, 5}, {9, 9}, {3, 3}},
    {"transposed, longer", true, 1, {2, 2}, {1, 1}, {1, 1}, 1, 8, 8, {4, 4}, {8, 8}, {3, 3}},
    {"transposed, depthwise", true, 8, {2, 2}, {1, 1}, {0, 0}, 1, 8, 8, {3, 3}, {6, 6}, {2, 2}},
    // More windows than are computed at once.
    {"many windows", false, 1, {1, 1}, {1, 1}, {0, 1}, 1, 2, 2, {45, 47}, {45, 47}, {1, 3}},
};

Operation operation_of(const Window& w, bool has_bias) {
    const auto groups = static_cast<std::uint32_t>(w.groups);
    Operation operation{Type::convolution,
                        {w.transposed, w.groups, w.strides[0], w.strides[1], w.dilations[0],
                         w.dilations[1], w.pads[0], w.pads[1]},
                        {},
                        {{w.batch, w.in_channels, w.in[0], w.in[1]},
                         {w.out_channels, w.in_channels / groups, w.kernel[0], w.kernel[1]}},
                        {w.batch, w.out_channels, w.out[0], w.out[1]}};
    if (w.transposed)
        operation.inputs[1] = {w.in_channels, w.out_channels / groups, w.kernel[0], w.kernel[1]};
    if (has_bias)
        operation.inputs.push_back({w.out_channels});
    return operation;
}

TEST(CpuProduct, ConvolutionsEqualTheirDefinition) {
    for (const Window& w : windows)
        for (const bool has_bias : {false, true}) {
            Operation operation = operation_of(w, has_bias);
            std::vector<Values> inputs;
            for (std::size_t i = 0; i < operation.inputs.size(); i++)
                inputs.push_back(numbers(elements(operation.inputs[i]), static_cast<int>(i) + 1));
            const Values wanted =
                convolved(w, inputs[0], inputs[1], has_bias ? inputs[2] : Values{});
            for (const Layout blocks : {Layout::blocked_8, Layout::blocked_16}) {
                operation.blocks = blocks;
                EXPECT_EQ(run(operation, inputs), wanted)
                    << w.name << (has_bias ? ", with bias, " : ", ") << name_of(blocks);
            }
        }
}

/// A window with its operands, and its result.
struct Example {
    Example(const Window& window, bool has_bias, int seed)
        : shape(shape_of_convolution(operation_of(window, has_bias))),
          source(numbers(elements(shape.source), seed)),
          weights(numbers(shape.weights(), seed + 1)),
          bias(has_bias ? numbers(window.out_channels, seed + 2) : Values()),
          target(convolved(window, source, weights, bias)) {}

    ConvolutionShape shape;
    Values source, weights, bias, target;
};

/// Returns the values with the channels of each image after its axes.
Values channels_last(const Values& values, const Shape& shape) {
    const std::size_t area = elements(shape) / shape[0] / shape[1];
    Values result(values.size());
    for (std::size_t i = 0; i < values.size(); i++) {
        const std::size_t at = i % area, channel = i / area % shape[1], image = i / area / shape[1];
        result[(image * area + at) * shape[1] + channel] = values[i];
    }
    return result;
}

TEST(CpuProduct, APrimitiveKeepsTheWeightsThatItKnows) {
    int made = 0;
    for (const Window& w : windows)
        for (const bool has_bias : {false, true}) {
            Example example(w, has_bias, 1);
            example.shape.blocks = has_bias ? Layout::blocked_16 : Layout::blocked_8;
            const auto convolution =
                OneDnnConvolution::make(example.shape, example.weights, example.bias);
            if (!convolution)
                continue;
            made++;
            example.weights.assign(example.weights.size(), infinity); // the primitive has copies
            example.bias.assign(example.bias.size(), infinity);
            for (int round = 0; round < 2; round++) {
                Values out(example.target.size(), infinity);
                convolution->run(example.source, {}, {}, out);
                EXPECT_EQ(out, example.target) << w.name << (has_bias ? ", with bias" : "");
            }
        }
    EXPECT_GE(made, 40);
}

TEST(CpuProduct, APrimitiveTakesWeightsWithEachRun) {
    for (const Window& w : windows) {
        const auto convolution = OneDnnConvolution::make(Example(w, true, 1).shape, {}, {});
        for (int seed = 1; seed < 4 && convolution; seed++) {
            const Example example(w, true, seed);
            Values out(example.target.size(), infinity);
            convolution->run(example.source, example.weights, example.bias, out);
            EXPECT_EQ(out, example.target) << w.name;
        }
    }
}

TEST(CpuProduct, APrimitiveTakesChannelsBehindTheAxes) {
    for (const Window& w : windows)
        for (int layouts = 1; layouts < 4; layouts++) {
            Example example(w, true, 1);
            ConvolutionShape& shape = example.shape;
            shape.source_layout = (layouts & 1) != 0 ? Layout::channels_last : Layout::planes;
            shape.target_layout = (layouts & 2) != 0 ? Layout::channels_last : Layout::planes;
            const auto convolution = OneDnnConvolution::make(shape, example.weights, example.bias);
            if (!convolution)
                continue;
            Values out(example.target.size(), infinity);
            convolution->run(shape.source_layout == Layout::channels_last
                                 ? channels_last(example.source, shape.source)
                                 : example.source,
                             {}, {}, out);
            EXPECT_EQ(out, shape.target_layout == Layout::channels_last
                               ? channels_last(example.target, shape.target)
                               : example.target)
                << w.name << ", layouts " << layouts;
        }
}

// oneDNN counts these windows in another way than Overtake, or some of its implementations do not
// support them.
TEST(CpuProduct, NoPrimitiveHasWindowsInPaddingAlone) {
    int count = 0;
    for (const Window& w : windows) {
        const std::string_view name = w.name;
        if (name != "padding cut off" && name != "only padding" && name != "taps beyond both sides")
            continue;
        count++;
        EXPECT_FALSE(OneDnnConvolution::make(Example(w, true, 1).shape, {}, {})) << name;
    }
    EXPECT_EQ(count, 3);
}

TEST(CpuProduct, AConvolutionMayHaveOneAxisOrThree) {
    EXPECT_EQ(run({Type::convolution, {0, 1, 2, 1, 1}, {}, {{1, 1, 5}, {1, 1, 3}}, {1, 1, 3}},
                  {{1, 2, 3, 4, 5}, {1, 10, 100}}),
              (Values{210, 432, 54}));
    // 2 x 2 x 2 taps that select one element, in steps of 1, 2 and 1.
    Values corner(8);
    corner[5] = 1; // the last, first, last
    EXPECT_EQ(
        run({Type::convolution,
             {0, 1, 1, 2, 1, 1, 1, 1, 0, 0, 0},
             {},
             {{1, 1, 2, 4, 3}, {1, 1, 2, 2, 2}},
             {1, 1, 1, 2, 2}},
            {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23},
             corner}),
        (Values{13, 14, 19, 20}));
}

TEST(CpuPool, EachKindOverWindowsOfTwoAxes) {
    // Windows of 2 x 3 in steps of 2 and 1, with padding of 1 and 2 in front and 1 and 0 behind.
    const Window w{"", false, 1, {2, 1}, {1, 2}, {1, 2}, 2, 2, 2, {3, 5}, {3, 3}, {2, 3}};
    const std::int64_t behind[] = {1, 0};
    const Shape in{2, 2, 3, 5}, out{2, 2, 3, 3};
    const Values input = numbers(elements(in), 3);
    for (std::int64_t kind = 0; kind < 4; kind++) {
        const Values got =
            run({Type::pool, {kind, 2, 3, 2, 1, 1, 2, 1, 2, behind[0], behind[1]}, {}, {in}, out},
                {input});
        for (std::size_t plane = 0; plane < 4; plane++)
            for (std::uint32_t y = 0; y < 3; y++)
                for (std::uint32_t x = 0; x < 3; x++) {
                    double sum = 0, squares = 0, inside = 0, counted = 0;
                    float greatest = -std::numeric_limits<float>::infinity();
                    for_each_tap(w, y, x, w.in,
                                 [&](std::size_t, std::size_t at_y, std::size_t at_x) {
                                     const float here = input[(plane * 3 + at_y) * 5 + at_x];
                                     sum += here;
                                     squares += here * here;
                                     greatest = std::max(greatest, here);
                                     inside++;
                                 });
                    for (std::int64_t ky = 0; ky < 2; ky++)
                        for (std::int64_t kx = 0; kx < 3; kx++)
                            counted +=
                                y * 2 + ky - 1 < 3 + behind[0] && x + kx * 2 - 2 < 5 + behind[1];
                    const double wanted[] = {greatest, sum / std::max(inside, 1.0), sum / counted,
                                             std::sqrt(squares)};
                    EXPECT_FLOAT_EQ(got[(plane * 3 + y) * 3 + x], static_cast<float>(wanted[kind]))
                        << "kind " << kind << ", plane " << plane << ", " << y << ", " << x;
                }
    }
}

} // namespace
} // namespace overtake::cpu
