// SPDX-License-Identifier: MIT
#include "compiler/passes/equalise.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

#include "compiler/float/executor.hpp"

using namespace overtake::compiler;

namespace {

// x (2 channels) -> first -> middle -> second -> y; all values have one pixel.
class Chain {
public:
    Chain() {
        graph.values = {{"x", {1, 2, 1, 1}, 2, 1, 1},
                        {"middle", {1, 2, 1, 1}, 2, 1, 1},
                        {"y", {1, 1, 1, 1}, 1, 1, 1}};
        graph.nodes = {convolution("first", {0}, 1, {1, 0, 0, 0.01f}, {0, 0.005f}),
                       convolution("second", {1}, 2, {1, 50}, {0.25f})};
        graph.nodes[0].clamp_low = 0;
        graph.inputs = {0};
        graph.outputs = {2};
    }

    static Node convolution(const char* name, std::vector<ValueId> inputs, ValueId output,
                            std::vector<float> weights, std::vector<float> bias) {
        Node node;
        node.name = name;
        op::Convolution operation;
        operation.weights = std::move(weights);
        operation.bias = std::move(bias);
        node.operation = std::move(operation);
        node.inputs = std::move(inputs);
        node.output = output;
        return node;
    }

    op::Convolution& operation(std::size_t node) {
        return std::get<op::Convolution>(graph.nodes[node].operation);
    }

    void equalise() {
        overtake::compiler::equalise(graph, samples, [](double) {});
    }

    float run(const FloatValues& sample) const {
        FloatExecutor executor(graph);
        return executor.run(sample)[2][0];
    }

    Graph graph;
    Samples samples{{{4, 4}}, {{1, 2}}};
};

} // namespace

TEST(Equalise, ASmallChannelGrowsAndTheNetworkComputesTheSame) {
    Chain chain, before;
    chain.equalise();
    EXPECT_EQ(chain.operation(0).weights[0], 1);
    EXPECT_GT(chain.operation(0).weights[3], 0.01f);
    EXPECT_LT(chain.operation(1).weights[1], 50);
    for (const FloatValues& sample : {FloatValues{{4, 4}}, FloatValues{{-3, 2}}, {{0, -9}}})
        EXPECT_NEAR(chain.run(sample), before.run(sample), 1e-5f);
}

TEST(Equalise, TwoSamplesLeaveHalfAsMuchRoomAsTheyFill) {
    Chain chain;
    chain.operation(0).weights[3] = 0.5f; // the channels' greatest values are 4 and 2.005
    chain.equalise();
    EXPECT_GT(chain.operation(0).weights[3], 0.5f);
    EXPECT_LE(chain.operation(0).weights[3] * 4, 4 / 1.5f);
}

TEST(Equalise, BehindAClampNothingThatTheSamplesHoldSaturates) {
    Chain chain, before;
    chain.graph.nodes[0].clamp_high = before.graph.nodes[0].clamp_high = 6;
    chain.equalise();
    EXPECT_GT(chain.operation(0).weights[3], 0.01f);
    for (const FloatValues& sample : chain.samples)
        EXPECT_NEAR(chain.run(sample), before.run(sample), 1e-5f);
}

TEST(Equalise, WhatOthersSeeIsLeftAlone) {
    Chain before, output, clamped, given, scales, function;
    output.graph.outputs = {1, 2};
    clamped.graph.nodes[0].clamp_low = -1;
    given.graph.values[1].given = Quantisation{0.1f, 0};
    scales.operation(1).weight_scales = {0.5f};
    function.graph.nodes.push_back(function.graph.nodes[1]);
    function.graph.nodes[2].operation = op::Activation{[](float x) { return x * x; }};
    function.graph.nodes[2].output = 3;
    function.graph.values.push_back(function.graph.values[1]);
    function.graph.outputs.push_back(3);
    for (Chain* chain : {&output, &clamped, &given, &scales, &function}) {
        chain->equalise();
        EXPECT_EQ(chain->operation(0).weights, before.operation(0).weights);
        EXPECT_EQ(chain->operation(1).weights, before.operation(1).weights);
    }
}

TEST(Equalise, WhatIsAddedGetsTheSameFactors) {
    Chain chain, before;
    for (Chain* one : {&chain, &before}) {
        Graph& graph = one->graph;
        graph.values.push_back(graph.values[1]);
        graph.values.push_back(graph.values[1]);
        graph.nodes.insert(graph.nodes.begin() + 1,
                           Chain::convolution("other", {0}, 3, {0.5f, 0, 0, 0.002f}, {0, 0}));
        Node add;
        add.operation = op::Pair{op::Pair::Kind::add};
        add.inputs = {1, 3};
        add.output = 4;
        graph.nodes.insert(graph.nodes.begin() + 2, add);
        graph.nodes[3].inputs = {4};
    }
    chain.equalise();
    const float factor = chain.operation(0).weights[3] / 0.01f;
    EXPECT_GT(factor, 1);
    EXPECT_NEAR(chain.operation(1).weights[3], 0.002f * factor, 1e-6f);
    EXPECT_NEAR(chain.run({{3, -1}}), before.run({{3, -1}}), 1e-5f);
}

TEST(Equalise, GroupsOfChannelsKeepTheirs) {
    Chain chain, before;
    for (Chain* one : {&chain, &before}) {
        op::Convolution& second = one->operation(1);
        second.groups = 2;
        second.bias = {0, 0};
        one->graph.values[2].channels = 2;
        one->graph.values[2].shape[1] = 2;
    }
    chain.equalise();
    EXPECT_EQ(chain.operation(1).weights[0], 1);
    EXPECT_LT(chain.operation(1).weights[1], 50);
    EXPECT_NEAR(chain.run({{2, 3}}), before.run({{2, 3}}), 1e-5f);
}

namespace {

// x (1 channel) -> small, great -> Concat -> y; all values have one pixel.
Chain two_ranges() {
    Chain chain;
    chain.graph.values = {{"x", {1, 1, 1, 1}, 1, 1, 1},
                          {"small", {1, 1, 1, 1}, 1, 1, 1},
                          {"great", {1, 2, 1, 1}, 2, 1, 1},
                          {"both", {1, 3, 1, 1}, 3, 1, 1},
                          {"y", {1, 1, 1, 1}, 1, 1, 1}};
    Node concat;
    concat.name = "concat";
    concat.operation = op::Concat{};
    concat.inputs = {1, 2};
    concat.output = 3;
    chain.graph.nodes = {Chain::convolution("small", {0}, 1, {0.01f}, {0}),
                         Chain::convolution("great", {0}, 2, {5, 2}, {0, 1}), concat,
                         Chain::convolution("last", {3}, 4, {100, 0.2f, 0.1f}, {0})};
    chain.graph.outputs = {4};
    chain.samples = {{{1}}, {{-2}}};
    return chain;
}

} // namespace

TEST(Equalise, WhatConcatBringsTogetherGetsOneRange) {
    Chain chain = two_ranges(), before = two_ranges();
    chain.equalise();
    EXPECT_GT(chain.operation(0).weights[0], 0.3f); // more than a single channel may grow
    EXPECT_EQ(chain.operation(1).weights[0], 5);
    EXPECT_LT(chain.operation(3).weights[0], 3);
    for (const FloatValues& sample : {FloatValues{{1}}, FloatValues{{-2}}, FloatValues{{7}}}) {
        FloatExecutor after_it(chain.graph), before_it(before.graph);
        EXPECT_NEAR(after_it.run(sample)[4][0], before_it.run(sample)[4][0], 1e-4f);
    }
}

TEST(Equalise, BehindAClampNothingSaturatesWhereConcatHasGreaterValues) {
    Chain chain = two_ranges(), before = two_ranges();
    for (Chain* one : {&chain, &before}) {
        one->graph.nodes[0].clamp_low = 0;
        one->graph.nodes[0].clamp_high = 0.02f;
    }
    chain.equalise();
    for (const FloatValues& sample : chain.samples) {
        FloatExecutor after_it(chain.graph), before_it(before.graph);
        EXPECT_NEAR(after_it.run(sample)[4][0], before_it.run(sample)[4][0], 1e-4f);
    }
}
