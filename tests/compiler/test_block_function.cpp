// SPDX-License-Identifier: MIT
#include "compiler/ir/block_function.hpp"

#include <cmath>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/ir/graph.hpp"
#include "compiler/passes/fuse_elementwise.hpp"

using namespace overtake::compiler;

namespace {

std::vector<float> numbers(std::size_t count) {
    std::vector<float> result(count);
    std::iota(result.begin(), result.end(), -100.f);
    return result;
}

/// x * tanh(x), of two nodes.
Graph product() {
    Graph graph;
    for (const char* name : {"x", "tanh", "y"})
        graph.values.push_back({name, {1, 1, 1, 1}, 1, 1, 1});
    Node function, pair;
    function.operation = op::Activation{[](float x) { return std::tanh(x); }};
    function.inputs = {0};
    function.output = 1;
    pair.operation = op::Pair{op::Pair::Kind::multiply};
    pair.inputs = {0, 1};
    pair.output = 2;
    graph.nodes = {function, pair};
    graph.inputs = {0};
    graph.outputs = {2};
    return graph;
}

} // namespace

TEST(BlockFunction, IsCalledOncePerBlock) {
    std::size_t calls = 0;
    const std::function<float(float)> doubled = BlockFunction([&](std::span<float> block) {
        ++calls;
        for (float& x : block)
            x *= 2;
    });
    std::vector<float> found = numbers(2 * BlockFunction::size + 1);
    replace_all(found, doubled);
    EXPECT_EQ(calls, 3u);
    for (std::size_t index = 0; index < found.size(); ++index)
        EXPECT_EQ(found[index], 2 * (static_cast<float>(index) - 100));
    EXPECT_EQ(doubled(21), 42);
}

TEST(BlockFunction, IsWhatElementwiseNodesAreFusedTo) {
    Graph graph = product();
    fuse_elementwise(graph);
    const auto* activation = graph.nodes[1].as<op::Activation>();
    ASSERT_TRUE(activation);
    EXPECT_EQ(graph.nodes[1].inputs, std::vector<ValueId>{0});
    EXPECT_TRUE(activation->function.target<BlockFunction>());
    std::vector<float> found = numbers(3 * BlockFunction::size - 5);
    replace_all(found, activation->function);
    for (std::size_t index = 0; index < found.size(); ++index) {
        const float x = static_cast<float>(index) - 100;
        EXPECT_EQ(found[index], x * std::tanh(x));
        EXPECT_EQ(found[index], activation->function(x));
    }
}
