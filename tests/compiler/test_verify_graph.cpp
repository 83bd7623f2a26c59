// SPDX-License-Identifier: MIT
//
// check_node() passes nodes that fit, and refuses nodes that would leave their values.  For every
// operator of the device there is one node that fits, and the same node with a number that is too
// great or too small by one.
#include "compiler/ir/verify_graph.hpp"

#include <gtest/gtest.h>
#include <vector>

#include "compiler/ir/layout.hpp"
#include "overtake_isa.h"

using namespace overtake::compiler;

namespace {

using Shape = std::vector<std::int64_t>;

// Whether a node with these inputs and this output passes; shapes are (1, C, H, W).
bool passes(const Operation& operation, const std::vector<Shape>& inputs, const Shape& output) {
    Graph graph;
    Node node;
    node.operation = operation;
    const auto add = [&](const Shape& shape) {
        Value value{"value", shape};
        EXPECT_TRUE(lay_out(value, overtake::Order::planes));
        graph.values.push_back(std::move(value));
        return graph.values.size() - 1;
    };
    for (const Shape& shape : inputs)
        node.inputs.push_back(add(shape));
    node.output = add(output);
    return check_node(graph, node).empty();
}

op::Convolution convolution(std::size_t weights, std::size_t bias, std::uint32_t groups = 1) {
    op::Convolution result;
    result.window.kernel_height = result.window.kernel_width = 3;
    result.groups = groups;
    result.weights.resize(weights);
    result.bias.resize(bias);
    return result;
}

const Shape image = {1, 4, 6, 8};

TEST(Soundness, Convolutions) {
    EXPECT_TRUE(passes(convolution(16 * 4 * 9, 16), {image}, {1, 16, 4, 6}));
    EXPECT_FALSE(passes(convolution(16 * 4 * 9 - 1, 16), {image}, {1, 16, 4, 6}));
    EXPECT_FALSE(passes(convolution(16 * 4 * 9, 17), {image}, {1, 16, 4, 6}));
    EXPECT_FALSE(passes(convolution(16 * 4 * 9, 16), {image}, {1, 15, 4, 6}));
    EXPECT_TRUE(passes(convolution(16 * 2 * 9, 16, 2), {image}, {1, 16, 4, 6}));
    EXPECT_FALSE(passes(convolution(16 * 4 * 3, 16, 3), {image}, {1, 16, 4, 6}));
    EXPECT_FALSE(passes(convolution(16 * 4 * 9, 16), {image, image}, {1, 16, 4, 6}));
}

TEST(Soundness, OperatorsOfTwo) {
    EXPECT_TRUE(passes(op::Pair{}, {image, {1, 4, 1, 8}}, image));
    EXPECT_FALSE(passes(op::Pair{}, {image, {1, 4, 2, 8}}, image));
    EXPECT_FALSE(passes(op::Pair{}, {image, image}, {1, 4, 6, 9}));
    EXPECT_FALSE(passes(op::Pair{}, {image}, image));
    EXPECT_TRUE(passes(op::MatrixProduct{}, {image, {1, 4, 1, 5}}, {1, 5, 6, 8}));
    EXPECT_FALSE(passes(op::MatrixProduct{}, {image, {1, 3, 1, 5}}, {1, 5, 6, 8}));
    EXPECT_FALSE(passes(op::MatrixProduct{}, {image, {1, 4, 2, 5}}, {1, 5, 6, 8}));
}

TEST(Soundness, WhatJoinsAndTakesParts) {
    EXPECT_TRUE(passes(op::Concat{axis_channels}, {image, {1, 2, 6, 8}}, {1, 6, 6, 8}));
    EXPECT_FALSE(passes(op::Concat{axis_channels}, {image, {1, 2, 7, 8}}, {1, 6, 6, 8}));
    EXPECT_FALSE(passes(op::Concat{axis_channels}, {image, {1, 2, 6, 7}}, {1, 6, 6, 8}));
    EXPECT_FALSE(passes(op::Concat{axis_channels}, {image, {1, 3, 6, 8}}, {1, 6, 6, 8}));
    EXPECT_FALSE(passes(op::Concat{axis_channels}, {}, {1, 6, 6, 8}));
    op::Slice slice;
    slice.stretches[axis_height] = {1, 2};
    EXPECT_TRUE(passes(slice, {image}, {1, 4, 3, 8}));
    EXPECT_FALSE(passes(slice, {image}, {1, 4, 4, 8}));
}

TEST(Soundness, WhatMoves) {
    EXPECT_TRUE(passes(op::Permute{{1, 0, 2}}, {image}, {1, 4, 8, 6}));
    EXPECT_FALSE(passes(op::Permute{{1, 0, 2}}, {image}, image));
    EXPECT_FALSE(passes(op::Permute{{0, 0, 2}}, {{1, 4, 6, 6}}, {1, 4, 6, 6}));
    EXPECT_FALSE(passes(op::Permute{{0, 1, 2}, 4}, {image}, image));
    EXPECT_TRUE(passes(op::DepthToSpace{2}, {image}, {1, 1, 12, 16}));
    EXPECT_FALSE(passes(op::DepthToSpace{2}, {image}, {1, 2, 12, 16}));
    EXPECT_TRUE(passes(op::SpaceToDepth{2}, {image}, {1, 16, 3, 4}));
    EXPECT_FALSE(passes(op::SpaceToDepth{2}, {image}, {1, 16, 4, 4}));
    EXPECT_TRUE(passes(op::Reshape{}, {image}, {1, 4, 48, 1}));
    EXPECT_FALSE(passes(op::Reshape{}, {image}, {1, 4, 49, 1}));
    EXPECT_FALSE(passes(op::Copy{}, {image}, {1, 4, 6, 9}));
    EXPECT_FALSE(passes(op::Activation{}, {image}, {1, 4, 5, 8}));
}

TEST(Soundness, WhatSpreadsAndGathers) {
    op::Pad pad{op::Pad::Mode::reflect};
    pad.front[axis_width] = 7;
    EXPECT_TRUE(passes(pad, {image}, {1, 4, 6, 15}));
    EXPECT_FALSE(passes(pad, {image}, {1, 4, 6, 14})); // the output ends in front of the input
    EXPECT_FALSE(passes(pad, {image}, {1, 4, 6, 23})); // reflects more pixels than there are
    EXPECT_TRUE(passes(op::Broadcast{}, {{1, 4, 1, 1}}, image));
    EXPECT_FALSE(passes(op::Broadcast{}, {{1, 4, 3, 1}}, image));
    const op::Reduce reduce{op::Reduce::Kind::sum, OVERTAKE_AXIS_HEIGHT};
    EXPECT_TRUE(passes(reduce, {image}, {1, 4, 1, 8}));
    EXPECT_FALSE(passes(reduce, {image}, {1, 4, 1, 7}));
    EXPECT_FALSE(passes(reduce, {image}, {1, 4, 2, 8}));
    EXPECT_TRUE(passes(op::Resize{}, {image}, {1, 4, 60, 3}));
    EXPECT_FALSE(passes(op::Resize{}, {image}, {1, 5, 60, 3}));
    EXPECT_TRUE(passes(op::Pool{}, {image}, image));
    EXPECT_FALSE(passes(op::Pool{}, {image}, {1, 5, 6, 8}));
}

} // namespace
