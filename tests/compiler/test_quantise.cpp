// SPDX-License-Identifier: MIT
#include "compiler/quantise/quantise.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

#include "compiler/ir/error.hpp"
#include "overtake_isa.h"

using namespace overtake::compiler;

namespace {

// One convolution of one pixel, with `inputs` input channels and one output channel for each bias.
Graph pixel_convolution(std::uint32_t inputs, std::vector<float> weights, std::vector<float> bias) {
    Graph graph;
    const auto outputs = static_cast<std::uint32_t>(bias.size());
    graph.values = {{"x", {1, inputs}, inputs, 1, 1}, {"y", {1, outputs}, outputs, 1, 1}};
    Node node;
    node.name = "conv";
    node.onnx_type = "Conv";
    node.inputs = {0};
    node.output = 1;
    op::Convolution convolution;
    convolution.weights = std::move(weights);
    convolution.bias = std::move(bias);
    node.operation = std::move(convolution);
    graph.nodes = {node};
    graph.inputs = {0};
    graph.outputs = {1};
    return graph;
}

// Returns the greatest accumulator that any input can cause, in 64 bits.
std::int64_t greatest_accumulator(const QuantisedNode& node, std::size_t inputs,
                                  std::size_t output) {
    std::int64_t sum = std::abs(std::int64_t{node.bias[output]});
    for (std::size_t input = 0; input < inputs; ++input)
        sum += 255 * std::abs(std::int64_t{node.weights[output * inputs + input]});
    return sum;
}

} // namespace

TEST(FixedScale, IsTheFloatExactly) {
    std::mt19937 random(1);
    std::uniform_real_distribution<double> exponent(-37, 22.9);
    for (int round = 0; round < 100000; ++round) {
        const auto scale = static_cast<float>(std::exp2(exponent(random)));
        const FixedScale fixed = fixed_scale(scale);
        EXPECT_LE(fixed.multiplier, OVERTAKE_MULTIPLIER_MAX);
        EXPECT_GE(fixed.shift, OVERTAKE_SHIFT_MIN);
        EXPECT_LE(fixed.shift, OVERTAKE_SHIFT_MAX);
        EXPECT_EQ(std::ldexp(double{static_cast<float>(fixed.multiplier)}, -int(fixed.shift)),
                  scale);
    }
}

TEST(FixedScale, TinyOnesLoseDigitsAndGreatOnesAreRefused) {
    EXPECT_EQ(fixed_scale(std::exp2(-62)).multiplier, 1u);
    EXPECT_EQ(fixed_scale(1e-30).multiplier, 0u);
    EXPECT_EQ(fixed_scale(std::exp2(22)).shift, OVERTAKE_SHIFT_MIN);
    EXPECT_THROW(fixed_scale(std::exp2(23)), CompileError);
    EXPECT_THROW(fixed_scale(0), CompileError);
    EXPECT_THROW(fixed_scale(std::nan("")), CompileError);
}

TEST(Quantisation, RoundsHalfToEvenAndSaturates) {
    const Quantisation quantisation{0.5f, 3};
    EXPECT_EQ(quantisation.nearest(0.25f), 3);
    EXPECT_EQ(quantisation.nearest(0.75f), 5);
    EXPECT_EQ(quantisation.nearest(1000), 127);
    EXPECT_EQ(quantisation.nearest(-INFINITY), -128);
    EXPECT_EQ(quantisation.real(5), 1.0f);
}

TEST(Quantise, ZeroIsExactInEveryRange) {
    Graph graph = pixel_convolution(1, {1}, {0});
    for (const Range range : {Range{-1, 3}, Range{0, 7}, Range{2, 9}, Range{-9, -2}, Range{0, 0}}) {
        const QuantisedGraph quantised =
            quantise(graph, choose_quantisations(graph, {range, range}));
        const Quantisation& values = quantised.values[0];
        EXPECT_EQ(values.real(values.nearest(0)), 0.0f);
        const float span = 255 * values.scale;
        EXPECT_GE(span * 1.0001f, std::max(range.high, 0.0f) - std::min(range.low, 0.0f));
    }
}

TEST(Quantise, AccumulatorsCannotOverflowWhateverTheInput) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (std::uint32_t inputs : {1u, 7u, 300u, 131072u})
        for (float size : {1e-6f, 1.0f, 1e6f}) {
            std::vector<float> weights(2 * inputs);
            for (float& weight : weights)
                weight = normal(random);
            std::fill(weights.begin() + inputs, weights.end(), 1.0f); // all become the greatest
            Graph graph = pixel_convolution(inputs, weights, {size, -size});
            const QuantisedGraph quantised =
                quantise(graph, choose_quantisations(graph, {{-1, 1}, {-size, size}}));
            for (std::size_t output : {0, 1})
                EXPECT_LT(greatest_accumulator(quantised.nodes[0], inputs, output), 1ll << 31)
                    << inputs << " inputs, bias " << size;
        }
}

TEST(Quantise, WeightsOfZeroGiveTheBias) {
    Graph graph = pixel_convolution(2, {0, 0}, {3});
    const QuantisedGraph quantised = quantise(graph, choose_quantisations(graph, {{0, 1}, {0, 3}}));
    const QuantisedNode& node = quantised.nodes[0];
    const double output = std::ldexp(double(node.bias[0]) * node.requantise[0].multiplier,
                                     -int(node.requantise[0].shift)) *
                          quantised.values[1].scale;
    EXPECT_NEAR(output, 3, 0.001);
}
