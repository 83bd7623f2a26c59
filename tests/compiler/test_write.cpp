// SPDX-License-Identifier: MIT
#include "compiler/file/write.hpp"

#include <functional>
#include <gtest/gtest.h>

#include "compiler/ir/error.hpp"
#include "overtake_accel.h"

using namespace overtake::compiler;

namespace {

std::string refusal(const std::function<void()>& check) {
    try {
        check();
    } catch (const CompileError& error) {
        return error.what();
    }
    return "";
}

} // namespace

TEST(Limits, OfBuffersAreThoseOfDevices) {
    EXPECT_EQ(refusal([] { check_buffer("weights", OVERTAKE_MAX_BUFFER_BYTES); }), "");
    EXPECT_EQ(refusal([] { check_buffer("weights", OVERTAKE_MAX_BUFFER_BYTES + (5 << 20)); }),
              "weights: takes 1029 MiB, of 1024 that are possible; divide the model");
}

// FlatBuffers ends the program if a file is larger than 2 GiB.
TEST(Limits, OfFilesLeaveRoomForWhatIsBesideTheWeights) {
    EXPECT_EQ(refusal([] { check_file_bytes("pack", OVERTAKE_MAX_BUFFER_BYTES); }), "");
    EXPECT_NE(refusal([] { check_file_bytes("pack", (2ull << 30) - (1 << 20)); }), "");
}

// Both x and y are larger than a buffer of the device can be.  They are refused only while they are
// tensors of the file: y while a node reads it, x while it is an input of the graph.
TEST(Limits, OfTensorsAreThoseOfTheFile) {
    Graph graph;
    graph.values = {{"x", {1 << 15, 1 << 15}}, {"y", {1 << 15, 1 << 15}}, {"z", {1}}};
    Node node;
    node.operation = op::Cpu{};
    node.inputs = {1};
    node.output = 2;
    graph.nodes = {node};
    EXPECT_EQ(refusal([&] { check_sizes(graph); }),
              "tensor 'y': takes 4096 MiB, of 1024 that are possible; divide the model");
    graph.nodes[0].inputs = {2};
    EXPECT_EQ(refusal([&] { check_sizes(graph); }), "");
    graph.inputs = {0};
    EXPECT_NE(refusal([&] { check_sizes(graph); }), "");
}
