// SPDX-License-Identifier: MIT
#include "compiler/accuracy/float_order.hpp"

#include <cstddef>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/accuracy/losses.hpp"
#include "compiler/passes/origins.hpp"
#include "convolution_chain.hpp"

namespace overtake::compiler {
namespace {

using Nodes = std::vector<std::size_t>;

TEST(FloatOrder, TheGreatestLossForTheLeastWorkComesFirst) {
    // Three equal errors: of little work, of much work, and of two nodes.
    const std::vector<ErrorSource> sources = {{{0}, {0.1}}, {{1}, {0.1}}, {{2, 3}, {0.1}}};
    const auto steps = float_order(sources, {1000, 1, 1, 1}, 0.02);
    ASSERT_EQ(steps.size(), 3u);
    EXPECT_EQ(steps[0].nodes, Nodes{1});
    EXPECT_EQ(steps[1].nodes, (Nodes{2, 3}));
    EXPECT_EQ(steps[2].nodes, Nodes{0});
    EXPECT_NEAR(steps[0].outputs[0], 0.2, 1e-12);
    EXPECT_EQ(steps[2].outputs[0], 0);
}

TEST(FloatOrder, ASourceEndsWithTheLastOfItsNodes) {
    // The error of the value between nodes 0 and 1, and the error that node 0 adds, end together.
    const std::vector<ErrorSource> sources = {{{0, 1}, {0.5}}, {{0}, {0.01}}, {{1, 2}, {0.1}}};
    const auto steps = float_order(sources, {1, 1, 1}, 0.02);
    ASSERT_EQ(steps.size(), 2u);
    EXPECT_EQ(steps[0].nodes, (Nodes{0, 1}));
    EXPECT_NEAR(steps[0].outputs[0], 0.1, 1e-12);
    EXPECT_EQ(steps[1].nodes, Nodes{2});
}

TEST(FloatOrder, AnOutputThatIsNearEnoughCountsLittle) {
    const std::vector<ErrorSource> sources = {{{0}, {0.019, 0}}, {{1}, {0, 0.03}}};
    const auto steps = float_order(sources, {1, 1}, 0.02);
    ASSERT_EQ(steps.size(), 2u);
    EXPECT_EQ(steps[0].nodes, Nodes{1});
}

TEST(FloatOrder, StepsTakeEachNodeOnce) {
    constexpr std::size_t count = 3000;
    std::vector<ErrorSource> sources;
    for (std::size_t node = 0; node + 1 < count; ++node)
        sources.push_back({{node, node + 1}, {1.0 / static_cast<double>(node + 1)}});
    const auto steps = float_order(sources, std::vector<double>(count, 1), 1e-3);
    std::set<std::size_t> seen;
    for (const FloatStep& step : steps)
        for (const std::size_t node : step.nodes)
            EXPECT_TRUE(seen.insert(node).second);
    EXPECT_EQ(seen.size(), count);
    EXPECT_TRUE(float_order({}, {1}, 0.1).empty());
}

// x -> twice -> y = 3 * that, and z = x.
Graph two_outputs() {
    Graph graph;
    for (const char* name : {"x", "twice", "y", "z"})
        graph.values.push_back({name, {1, 1, 1, 4}, 1, 1, 4});
    const auto scaling = [](float factor) {
        op::Convolution convolution;
        convolution.kind = op::Convolution::Kind::depthwise;
        convolution.weights = {factor};
        convolution.bias = {0};
        return convolution;
    };
    graph.nodes = {{"first", "Mul", scaling(2), {0}, 1},
                   {"second", "Mul", scaling(3), {1}, 2},
                   {"third", "Mul", scaling(1), {0}, 3}};
    graph.inputs = {0};
    graph.outputs = {2, 3};
    return graph;
}

TEST(Losses, ARoundingReachesTheOutputsBehindItAlone) {
    const Graph graph = two_outputs();
    const std::vector<FloatValues> samples = {{{0.5f, 1, 2, 3}}, {{1.25f, 0, 4, 1}}};
    const Quantisation whole{1, 0}, halves{0.5f, 0};
    const std::vector<Rounding> roundings = {{1, whole}, {0, whole}, {1, halves}};
    const auto losses = losses_of(graph, samples, roundings, [](double) {});
    ASSERT_EQ(losses.size(), 3u);
    // The elements of twice are 1 2 4 6 and 2.5 0 8 2. Only 2.5 is rounded, to 2 or 3.
    const double all = 1 + 4 + 16 + 36 + 6.25 + 64 + 4;
    EXPECT_NEAR(losses[0].value, 0.25 / all, 1e-9);
    EXPECT_NEAR(losses[0].outputs[0], 0.25 / all, 1e-9);
    EXPECT_EQ(losses[0].outputs[1], 0);
    EXPECT_GT(losses[1].outputs[0], 0);
    EXPECT_GT(losses[1].outputs[1], 0);
    EXPECT_EQ(losses[2].value, 0);
    EXPECT_EQ(losses[2].outputs, (std::vector<double>{0, 0}));
}

TEST(Losses, TheWorstAreThoseWithTheGreatestErrors) {
    const Graph graph = two_outputs();
    const FloatValues sample = {{0.5f, 1, 2, 3}};
    const Quantisation whole{1, 0}, halves{0.5f, 0}, tens{10, 0};
    const std::vector<Rounding> roundings = {{0, whole}, {0, halves}, {1, tens}, {1, whole}};
    const auto worst = worst_of(graph, sample, roundings, 2);
    ASSERT_EQ(worst.size(), 2u);
    EXPECT_EQ(worst[0].to, whole);
    EXPECT_EQ(worst[1].to, tens);
    EXPECT_EQ(worst_of(graph, sample, roundings, 4).size(), 4u);
}

// An index that rounding moves beyond the table.
TEST(Losses, WhatCannotRunWithTheRoundedValueIsALossLikeAnother) {
    Graph graph;
    for (const char* name : {"x", "index", "y"})
        graph.values.push_back({name, {1}, 1, 1, 1});
    op::Convolution same;
    same.kind = op::Convolution::Kind::depthwise;
    same.weights = {1};
    same.bias = {0};
    Value table;
    table.name = "table";
    table.shape = {4};
    table.constant = {1, 2, 3, 4};
    graph.values.push_back(table);
    Node gather;
    gather.name = "gather";
    gather.onnx_type = "Gather";
    gather.operation = op::Cpu{CpuOpType::gather, {0}};
    gather.inputs = {3, 1};
    gather.output = 2;
    graph.nodes = {{"first", "Mul", same, {0}, 1}, gather};
    graph.inputs = {0};
    graph.outputs = {2};
    const Quantisation tens{10, 0}, whole{1, 0};
    const std::vector<FloatValues> samples = {{{3}}, {{2}}};
    const auto losses = losses_of(
        graph, samples, std::vector<Rounding>{{1, {5, 0}}, {1, whole}, {1, tens}}, [](double) {});
    EXPECT_EQ(losses[0].outputs[0], error_of_no_result); // 3 becomes 5
    EXPECT_EQ(losses[1].outputs[0], 0);
    EXPECT_GT(losses[2].outputs[0], 0); // 3 becomes 0
    EXPECT_LT(losses[2].outputs[0], 4);
}

TEST(Losses, TimeBoundsTheSamplesAndSpreadsThem) {
    Samples samples(100);
    for (std::size_t number = 0; number < samples.size(); ++number)
        samples[number] = {{static_cast<float>(number)}};
    const auto firsts = [](const Samples& some) {
        std::vector<float> numbers;
        for (const FloatValues& sample : some)
            numbers.push_back(sample[0][0]);
        return numbers;
    };
    EXPECT_EQ(firsts(spread(samples, 4)), (std::vector<float>{0, 25, 50, 75}));
    EXPECT_EQ(spread(samples, 1000).size(), 100u);
    const Graph small = two_outputs(), large = test::chain(512, 64, 4);
    EXPECT_EQ(samples_in_time(small, samples, 10).size(), 8u);
    EXPECT_EQ(samples_in_time(large, samples, 10).size(), 8u);
    EXPECT_EQ(samples_in_time(large, samples, 100).size(), 2u);
    EXPECT_EQ(samples_in_time(large, samples, 1000).size(), 1u);
    // For small nodes the calls count.
    EXPECT_GT(effort_of(small), 3 * 1000u);
}

TEST(Origins, AFoldedNodeIsAllThatItComputes) {
    const Graph graph = two_outputs();
    const Origins origins(graph);
    Node folded = graph.nodes[0];
    folded.output = 2;
    const auto names = [&](const Node& node) {
        std::set<std::string> found;
        for (const Origin& origin : origins.of(node))
            found.insert(origin.name);
        return found;
    };
    EXPECT_EQ(names(folded), (std::set<std::string>{"first", "second"}));
    EXPECT_EQ(names(graph.nodes[1]), (std::set<std::string>{"second"}));
    EXPECT_EQ(origins.of(graph.nodes[1])[0].kind, graph.nodes[1].onnx_type);
}

TEST(Wholes, APartIsOneOfWhatItsWholeIsAPartOf) {
    Graph graph;
    EXPECT_TRUE(wholes_of(graph, "lstm:1").empty());
    graph.wholes.emplace("lstm:1", Whole{"lstm", "LSTM", true});
    graph.wholes.emplace("lstm", Whole{"lstm", "LSTM", true});
    graph.wholes.emplace("lstm", Whole{"lstm", "DynamicQuantizeLSTM"}); // its last part
    std::set<std::string> kinds;
    for (const Whole& whole : wholes_of(graph, "lstm:1")) {
        EXPECT_EQ(whole.name, "lstm");
        kinds.insert(whole.kind);
    }
    EXPECT_EQ(kinds, (std::set<std::string>{"DynamicQuantizeLSTM", "LSTM"}));
    EXPECT_EQ(recurrence_of(graph, "lstm:1"), "lstm");
    EXPECT_EQ(recurrence_of(graph, "other"), "other");
    graph.wholes.emplace("gelu:1", Whole{"gelu", "Gelu"});
    EXPECT_EQ(recurrence_of(graph, "gelu:1"), "gelu:1");
}

} // namespace
} // namespace overtake::compiler
