// SPDX-License-Identifier: MIT
//
// Operators in each of their layouts give the same bits, and conversions lose nothing.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "cpu/layout.hpp"
#include "cpu/operation.hpp"
#include "cpu_run.hpp"

namespace overtake::cpu {
namespace {

using Type = CpuOpType;
using Values = std::vector<float>;

/// The blocks of the running test.
Layout blocks = Layout::blocked_8;

class CpuLayoutTest : public testing::TestWithParam<Layout> {
protected:
    void SetUp() override { blocks = GetParam(); }
};

/// Computes blocks by their definition: (batch, block, position, lane).
Values blocked_by_loop(const Shape& shape, const Values& planes) {
    const std::size_t channels = shape[1], area = planes.size() / shape[0] / channels;
    const std::size_t width = lanes_of(blocks), count = (channels + width - 1) / width;
    Values result(shape[0] * count * area * width, 0.0f);
    for (std::size_t n = 0; n < shape[0]; n++)
        for (std::size_t c = 0; c < channels; c++)
            for (std::size_t p = 0; p < area; p++)
                result[((n * count + c / width) * area + p) * width + c % width] =
                    planes[(n * channels + c) * area + p];
    return result;
}

Values random_values(std::mt19937& random, std::size_t count) {
    std::normal_distribution<float> normal(0, 2);
    Values values(count);
    for (float& value : values)
        value = random() % 16 == 0 ? std::round(normal(random)) : normal(random);
    return values;
}

const Shape shapes[] = {{1, 8, 4, 4},    {1, 1, 1, 1},       {2, 3, 5, 7},   {1, 16, 1, 9},
                        {3, 13, 6, 1},   {2, 24, 2, 2},      {1, 9, 11},     {2, 8, 1},
                        {1, 5, 2, 3, 4}, {1, 8, 2, 2, 2, 2}, {1, 17, 32, 32}};

std::string text(const Shape& shape) {
    std::string all;
    for (const std::uint32_t size : shape)
        all += (all.empty() ? "" : "x") + std::to_string(size);
    return all;
}

TEST_P(CpuLayoutTest, ConversionsLoseNothingAndClearSpareLanes) {
    std::mt19937 random(1);
    for (const Shape& shape : shapes) {
        const Values planes = random_values(random, elements(shape));
        Values blocked(stored_elements(shape, blocks), infinity);
        Conversion(shape, Layout::planes, blocks).run(planes, blocked);
        EXPECT_EQ(blocked, blocked_by_loop(shape, planes)) << text(shape);
        Values back(planes.size(), infinity);
        Conversion(shape, blocks, Layout::planes).run(blocked, back);
        EXPECT_EQ(back, planes) << text(shape);
    }
}

TEST_P(CpuLayoutTest, SpareLanesAreClearedAndNoOthers) {
    for (const Shape& shape : shapes) {
        Values blocked(stored_elements(shape, blocks), 3.0f);
        clear_spare_lanes(shape, blocks, blocked);
        EXPECT_EQ(blocked, blocked_by_loop(shape, Values(elements(shape), 3.0f))) << text(shape);
    }
}

Values in_layout(const Shape& shape, const Values& planes, LayoutNumber layout) {
    return layout == static_cast<LayoutNumber>(blocks) ? blocked_by_loop(shape, planes) : planes;
}

/// Runs each of the operation's forms twice and checks the results; returns the number of forms.
std::size_t check_forms(Operation operation, const std::vector<Values>& inputs,
                        const std::string& name) {
    operation.blocks = blocks;
    EXPECT_EQ(check(operation), "") << name;
    const auto prepared = prepare(operation);
    const std::vector<NodeForm> forms = prepared->forms();
    Values expected(elements(operation.output), infinity);
    prepared->kernel(forms.front())(Inputs(inputs.begin(), inputs.end()), expected);
    for (std::size_t number = 0; number < forms.size(); number++) {
        const NodeForm& form = forms[number];
        EXPECT_GT(form.ns, 0) << name;
        std::vector<Values> placed;
        for (std::size_t i = 0; i < inputs.size(); i++)
            placed.push_back(in_layout(operation.inputs[i], inputs[i], form.inputs[i]));
        const Values wanted = in_layout(operation.output, expected, form.output);
        const Kernel kernel = prepared->kernel(form);
        for (int round = 0; round < 2; round++) {
            Values out(wanted.size(), infinity);
            kernel(Inputs(placed.begin(), placed.end()), out);
            const bool is_equal =
                std::equal(out.begin(), out.end(), wanted.begin(), [](float a, float b) {
                    return a == b || (std::isnan(a) && std::isnan(b));
                });
            EXPECT_TRUE(is_equal) << name << ", form " << number << ", round " << round;
        }
    }
    return forms.size();
}

TEST_P(CpuLayoutTest, FunctionsOfOneElement) {
    std::mt19937 random(2);
    for (const Shape& shape : shapes)
        for (std::int64_t function = 0; function < static_cast<std::int64_t>(Unary::count);
             function++)
            EXPECT_EQ(check_forms({Type::unary, {function}, {-1, 2}, {shape}, shape},
                                  {random_values(random, elements(shape))},
                                  text(shape) + ", function " + std::to_string(function)),
                      2u);
}

/// Checks forms with the second operand of shape `other`, known or not; returns the number of
/// forms.
std::size_t check_binary_forms(const Shape& shape, const Shape& other, std::int64_t function,
                               bool is_known, std::mt19937& random) {
    const std::vector<Values> inputs = {random_values(random, elements(shape)),
                                        random_values(random, elements(other))};
    Operation operation{Type::binary, {function}, {}, {shape, other}, shape};
    operation.known.resize(2);
    if (is_known)
        operation.known[1] = inputs[1];
    return check_forms(operation, inputs,
                       text(shape) + " and " + text(other) + ", function " +
                           std::to_string(function) + (is_known ? ", known" : ""));
}

TEST_P(CpuLayoutTest, FunctionsOfTwoElements) {
    std::mt19937 random(3);
    for (const Shape& shape : shapes)
        for (std::int64_t function = 0; function < static_cast<std::int64_t>(Binary::count);
             function++) {
            Shape of_channels(shape.size(), 1), of_one_image = shape, of_a_plane = shape;
            of_channels[1] = shape[1];
            of_one_image[0] = 1;
            of_a_plane[1] = 1;
            const Shape without_batch(of_channels.begin() + 1, of_channels.end());
            for (const bool is_known : {false, true}) {
                const auto forms = [&](const Shape& other) {
                    return check_binary_forms(shape, other, function, is_known, random);
                };
                const std::size_t both = elements(shape) == 1 ? 1 : 2; // one element is no block
                EXPECT_EQ(forms(shape), both);
                EXPECT_EQ(forms(of_one_image), both);
                EXPECT_EQ(forms(of_channels), both);
                EXPECT_EQ(forms({1}), both);
                forms(of_a_plane);
                EXPECT_EQ(forms(without_batch), is_known || shape[1] == 1 ? both : 1);
            }
        }
}

TEST_P(CpuLayoutTest, OperandsOfTheLastAxisAreNotTakenForChannels) {
    std::mt19937 random(4);
    const Shape shape = {1, 8, 8, 8};
    EXPECT_EQ(check_binary_forms(shape, {8}, 0, true, random), 1u);
    EXPECT_EQ(check_binary_forms(shape, {8, 8}, 0, true, random), 1u);
    EXPECT_EQ(check_binary_forms(shape, {8, 1, 1}, 0, true, random), 2u);
    EXPECT_EQ(check_binary_forms(shape, {8, 8, 8}, 0, false, random), 1u);
    EXPECT_EQ(check_binary_forms(shape, {8, 8, 8}, 0, true, random), 2u);
}

TEST_P(CpuLayoutTest, TheLeftOperandMayBeTheSmallerOne) {
    std::mt19937 random(5);
    const Shape shape = {2, 11, 3, 3}, channels = {1, 11, 1, 1};
    const std::vector<Values> inputs = {random_values(random, 11),
                                        random_values(random, elements(shape))};
    for (std::int64_t function = 0; function < static_cast<std::int64_t>(Binary::count); function++)
        EXPECT_EQ(check_forms({Type::binary, {function}, {}, {channels, shape}, shape}, inputs,
                              "function " + std::to_string(function)),
                  2u);
}

TEST_P(CpuLayoutTest, ReductionsOfAllAxesBehindTheChannels) {
    std::mt19937 random(6);
    for (const Shape& shape : shapes)
        for (std::int64_t function = 0;
             function <= static_cast<std::int64_t>(Reduction::log_sum_exp); function++) {
            std::vector<std::int64_t> integers = {function};
            Shape output = {shape[0], shape[1]};
            for (std::size_t axis = 2; axis < shape.size(); axis++) {
                integers.push_back(static_cast<std::int64_t>(axis));
                output.push_back(1);
            }
            EXPECT_EQ(check_forms({Type::reduce, integers, {}, {shape}, output},
                                  {random_values(random, elements(shape))},
                                  text(shape) + ", function " + std::to_string(function)),
                      2u);
        }
    EXPECT_EQ(check_forms({Type::reduce, {0, 1}, {}, {{1, 4, 2}}, {1, 1, 2}},
                          {random_values(random, 8)}, "over channels"),
              1u);
}

TEST_P(CpuLayoutTest, Pools) {
    std::mt19937 random(7);
    for (const Shape& shape : shapes)
        for (std::int64_t kind = 0; kind < 4; kind++)
            for (std::int64_t kernel = 1; kernel < 4; kernel++) {
                const std::size_t axes = shape.size() - 2;
                std::vector<std::int64_t> integers = {kind};
                const std::int64_t stride = 1 + kernel % 2, pad = kernel / 2;
                for (const std::int64_t number : {kernel, stride, std::int64_t{1}, pad, pad})
                    integers.insert(integers.end(), axes, number);
                Shape output = shape;
                bool is_sound = true;
                for (std::size_t axis = 2; axis < shape.size(); axis++) {
                    const std::int64_t room = shape[axis] + 2 * pad - kernel;
                    is_sound = is_sound && room >= 0;
                    output[axis] = static_cast<std::uint32_t>(room / stride + 1);
                }
                if (is_sound) {
                    EXPECT_EQ(check_forms({Type::pool, integers, {}, {shape}, output},
                                          {random_values(random, elements(shape))},
                                          text(shape) + ", kind " + std::to_string(kind) +
                                              ", kernel " + std::to_string(kernel)),
                              2u);
                }
            }
}

TEST_P(CpuLayoutTest, Copies) {
    std::mt19937 random(10);
    for (const Shape& shape : shapes)
        EXPECT_EQ(check_forms({Type::dequantize, {}, {}, {shape}, shape},
                              {random_values(random, elements(shape))}, text(shape)),
                  2u);
    EXPECT_EQ(check_forms({Type::dequantize, {}, {}, {{1, 4, 6}}, {1, 24, 1}},
                          {random_values(random, 24)}, "another shape"),
              1u);
}

TEST_P(CpuLayoutTest, ConcatsOfWholeBlocksAndAlongAxes) {
    std::mt19937 random(11);
    const auto forms = [&](const Shape& left, const Shape& right, std::size_t axis) {
        Shape output = left;
        output[axis] += right[axis];
        return check_forms(
            {Type::concat, {static_cast<std::int64_t>(axis)}, {}, {left, right}, output},
            {random_values(random, elements(left)), random_values(random, elements(right))},
            text(left) + " and " + text(right));
    };
    const auto lanes = static_cast<std::uint32_t>(lanes_of(blocks));
    EXPECT_EQ(forms({2, lanes, 3, 3}, {2, 2 * lanes, 3, 3}, 1), 2u);
    EXPECT_EQ(forms({2, lanes, 3, 3}, {2, 5, 3, 3}, 1), 2u);
    EXPECT_EQ(forms({2, lanes + 8, 3, 3}, {2, 5, 3, 3}, 1), blocks == Layout::blocked_8 ? 2u : 1u);
    EXPECT_EQ(forms({2, 5, 3, 3}, {2, 8, 3, 3}, 1), 1u);
    EXPECT_EQ(forms({2, 11, 3, 3}, {2, 11, 3, 1}, 3), 2u);
    EXPECT_EQ(forms({2, 11, 3}, {2, 11, 2}, 2), 2u);
    EXPECT_EQ(forms({2, 8, 3, 3}, {1, 8, 3, 3}, 0), 1u);
    EXPECT_EQ(forms({2, 8}, {2, 8}, 1), 1u);
}

TEST_P(CpuLayoutTest, InterpolationsAlongAxes) {
    std::mt19937 random(12);
    const std::vector<std::int64_t> positions = {2, 0, 1, 1, 0, 2, 1};
    const auto forms = [&](std::int64_t axis, const Shape& shape, const Shape& output) {
        std::vector<std::int64_t> integers = {axis};
        integers.insert(integers.end(), positions.begin(), positions.end());
        return check_forms(
            {Type::interpolate, integers, {0.5f, 0.25f, 1, 0, -2, 3}, {shape}, output},
            {random_values(random, elements(shape))}, "axis " + std::to_string(axis));
    };
    EXPECT_EQ(forms(2, {2, 11, 3, 4}, {2, 11, 3, 4}), 2u);
    EXPECT_EQ(forms(3, {1, 8, 2, 5}, {1, 8, 2, 3}), 2u);
    EXPECT_EQ(forms(1, {1, 9, 2, 5}, {1, 3, 2, 5}), 1u);
}

TEST_P(CpuLayoutTest, PaddingOfAxes) {
    std::mt19937 random(13);
    for (std::int64_t mode = 0; mode < static_cast<std::int64_t>(Padding::count); mode++) {
        const auto forms = [&](std::vector<std::int64_t> before, const Shape& output) {
            before.insert(before.begin(), mode);
            return check_forms({Type::pad, before, {2.5f}, {{2, 11, 4, 5}}, output},
                               {random_values(random, 440)}, "mode " + std::to_string(mode));
        };
        EXPECT_EQ(forms({0, 0, 1, 2}, {2, 11, 6, 8}), 2u);
        EXPECT_EQ(forms({0, 0, -1, 0}, {2, 11, 3, 4}), 2u);
        EXPECT_EQ(forms({0, 1, 0, 0}, {2, 13, 4, 5}), 1u);
        EXPECT_EQ(forms({1, 0, 0, 0}, {3, 11, 4, 5}), 2u);
    }
}

/// A convolution, or a transposed one, of two axes.
struct Case {
    const char* name;
    std::uint32_t batch, from, to, groups, height, width, kernel;
    std::int64_t stride, dilation, pad;
};

const Case cases[] = {{"plain", 1, 16, 24, 1, 9, 9, 3, 1, 1, 1},
                      {"one by one", 1, 24, 16, 1, 7, 5, 1, 1, 1, 0},
                      {"first layer", 1, 3, 16, 1, 16, 16, 3, 2, 1, 1},
                      {"depthwise", 1, 16, 16, 16, 8, 8, 3, 1, 1, 1},
                      {"depthwise, spare lanes", 2, 11, 11, 11, 8, 8, 3, 2, 1, 1},
                      {"groups", 1, 16, 32, 2, 6, 6, 3, 1, 1, 1},
                      {"groups of three", 1, 9, 6, 3, 6, 6, 3, 1, 1, 1},
                      {"dilated", 1, 8, 8, 1, 12, 12, 3, 1, 2, 2},
                      {"batch", 3, 8, 16, 1, 5, 5, 3, 1, 1, 1},
                      {"spare lanes", 2, 5, 7, 1, 6, 6, 3, 1, 1, 1},
                      {"one row", 1, 8, 8, 1, 1, 17, 1, 1, 1, 0},
                      {"one column", 1, 13, 8, 1, 17, 1, 1, 1, 1, 0},
                      {"one pixel", 1, 32, 10, 1, 1, 1, 1, 1, 1, 0}};

Operation convolution(const Case& c, bool is_transposed) {
    const std::int64_t extent = (c.kernel - 1) * c.dilation + 1;
    const auto after = [&](std::uint32_t size) {
        return static_cast<std::uint32_t>((size + 2 * c.pad - extent) / c.stride + 1);
    };
    const Shape many = {c.batch, c.from, c.height, c.width};
    const Shape few = {c.batch, c.to, after(c.height), after(c.width)};
    return {Type::convolution,
            {is_transposed, c.groups, c.stride, c.stride, c.dilation, c.dilation, c.pad, c.pad},
            {},
            {is_transposed ? few : many,
             {c.to, c.from / c.groups, c.kernel, c.kernel},
             {is_transposed ? c.from : c.to}},
            is_transposed ? many : few};
}

TEST_P(CpuLayoutTest, Convolutions) {
    std::mt19937 random(8);
    std::size_t with_primitive = 0, direct = 0;
    for (const Case& c : cases)
        for (const bool is_transposed : {false, true})
            for (const bool is_known : {false, true}) {
                Operation operation = convolution(c, is_transposed);
                std::vector<Values> inputs;
                for (const Shape& shape : operation.inputs)
                    inputs.push_back(random_values(random, elements(shape)));
                operation.known.resize(3);
                if (is_known)
                    operation.known = {{}, inputs[1], inputs[2]};
                const std::size_t forms =
                    check_forms(operation, inputs,
                                std::string(c.name) + (is_transposed ? ", transposed" : "") +
                                    (is_known ? ", known" : ""));
                EXPECT_TRUE(forms == 1 || forms == 4) << c.name;
                with_primitive += forms == 4;
                operation.blocks = blocks;
                const std::vector<NodeForm> all = prepare(operation)->forms();
                direct += forms == 4 && all[3].ns < all[0].ns;
            }
    EXPECT_GE(with_primitive, 40u);
    const bool has_such_vectors = blocks == blocks_of_this_cpu() && __builtin_cpu_supports("avx2");
    EXPECT_GE(direct, has_such_vectors ? 30u : 0u); // other forms are copied
}

TEST_P(CpuLayoutTest, AllKernelsOfAConvolutionShareItsWeights) {
    std::mt19937 random(9);
    Operation operation = convolution(cases[0], false);
    std::vector<Values> inputs;
    for (const Shape& shape : operation.inputs)
        inputs.push_back(random_values(random, elements(shape)));
    operation.known = {{}, inputs[1], inputs[2]};
    operation.blocks = blocks;
    const auto prepared = prepare(operation);
    Values expected(elements(operation.output)), out(expected.size());
    prepared->kernel(prepared->forms().front())({inputs[0], inputs[1], inputs[2]}, expected);
    std::vector<Kernel> kernels;
    for (int i = 0; i < 3; i++)
        kernels.push_back(prepared->kernel(prepared->forms().front()));
    inputs[1].assign(inputs[1].size(), infinity); // kernels read the prepared weights
    for (const Kernel& kernel : kernels) {
        kernel({inputs[0], inputs[1], inputs[2]}, out);
        EXPECT_EQ(out, expected);
    }
}

TEST_P(CpuLayoutTest, SpareLanesBehindAConvolutionAreClearWhateverItsSource) {
    std::mt19937 random(15);
    for (const Case& c : cases)
        for (const bool is_transposed : {false, true}) {
            Operation operation = convolution(c, is_transposed);
            std::vector<Values> inputs;
            for (const Shape& shape : operation.inputs)
                inputs.push_back(random_values(random, elements(shape)));
            inputs[0].front() = infinity;
            inputs[0].back() = -infinity;
            operation.known = {{}, inputs[1], inputs[2]};
            check_forms(operation, inputs, c.name); // checks all lanes
        }
}

TEST_P(CpuLayoutTest, ConvolutionsDifferOnlyByRounding) {
    std::mt19937 random(14);
    for (const Case& c : cases) {
        Operation operation = convolution(c, false);
        std::vector<Values> inputs;
        for (const Shape& shape : operation.inputs)
            inputs.push_back(random_values(random, elements(shape)));
        const Inputs given(inputs.begin(), inputs.end());
        Values expected(elements(operation.output)), out(expected.size());
        make_kernel(operation)(given, expected);
        operation.blocks = blocks;
        make_kernel(operation)(given, out);
        for (std::size_t i = 0; i < out.size(); i++)
            ASSERT_NEAR(out[i], expected[i], 1e-3f) << c.name << ", element " << i;
    }
}

INSTANTIATE_TEST_SUITE_P(Blocks, CpuLayoutTest,
                         testing::Values(Layout::blocked_8, Layout::blocked_16),
                         [](const auto& info) {
                             return "Of" + std::to_string(lanes_of(info.param));
                         });

} // namespace
} // namespace overtake::cpu
