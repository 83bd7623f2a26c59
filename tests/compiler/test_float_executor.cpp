// SPDX-License-Identifier: MIT
#include "compiler/float/executor.hpp"

#include <gtest/gtest.h>
#include <oneapi/dnnl/dnnl.hpp>

#include "compiler/float/onednn.hpp"

using namespace overtake::compiler;

namespace {

/// One convolution of 1x1x2x2 by a 1x3 kernel, stride 2, two columns of padding on the left: the
/// only output pixel sees input (0, 0) with the last of the three weights.
Graph narrow_convolution() {
    Graph graph;
    graph.values = {{"x", {1, 1, 2, 2}, 1, 2, 2}, {"y", {1, 1, 1, 1}, 1, 1, 1}};
    Node node;
    node.name = "narrow";
    node.inputs = {0};
    node.output = 1;
    op::Convolution convolution;
    convolution.weights = {0.5f, -0.75f, 0.25f};
    convolution.bias = {0.125f};
    convolution.window.kernel_width = 3;
    convolution.window.stride_height = convolution.window.stride_width = 2;
    convolution.window.pad_left = 2;
    node.operation = convolution;
    graph.nodes = {node};
    graph.inputs = {0};
    graph.outputs = {1};
    return graph;
}

} // namespace

// oneDNN 3.7 computes this convolution wrongly with AVX-512.
TEST(FloatExecutor, AConvolutionMostlyOverPaddingIsRight) {
    const Graph graph = narrow_convolution();
    FloatExecutor executor(graph);
    const FloatValues& values = executor.run({{2, 3, 5, 7}});
    EXPECT_FLOAT_EQ(values[1][0], 2 * 0.25f + 0.125f);
}

TEST(FloatExecutor, OneDnnIsKeptToAvx2) {
    const Graph graph = narrow_convolution();
    FloatExecutor executor(graph);
    const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
    EXPECT_TRUE(isa == dnnl::cpu_isa::sse41 || isa == dnnl::cpu_isa::avx ||
                isa == dnnl::cpu_isa::avx2)
        << static_cast<int>(isa);
}

// oneDNN gets no convolution with windows of only padding: an operator of the CPU computes it.
TEST(FloatExecutor, AConvolutionWithoutAPrimitiveIsRightInEachOrder) {
    for (const bool is_rows : {false, true}) {
        Graph graph = narrow_convolution();
        graph.values = {{"x", {1, 2, 1, 2}, 2, 1, 2}, {"y", {1, 2, 1, 3}, 2, 1, 3}};
        if (is_rows) {
            graph.values = {{"x", {1, 1, 2, 2}, 2, 1, 2}, {"y", {1, 1, 3, 2}, 2, 1, 3}};
            graph.values[0].order = graph.values[1].order = overtake::Order::rows;
        }
        op::Convolution convolution;
        convolution.weights = {1, 2, 3, 10, 20, 30, 4, 5, 6, 40, 50, 60};
        convolution.bias = {0.5f, 0.25f};
        convolution.window.kernel_width = 3;
        convolution.window.pad_left = 3;
        graph.nodes[0].operation = convolution;
        FloatExecutor executor(graph);
        // Channels (1, 2) and (3, 5).
        const FloatValues& values = executor.run(
            {is_rows ? std::vector<float>{1, 3, 2, 5} : std::vector<float>{1, 2, 3, 5}});
        const float first[] = {0.5f, 3 + 90.5f, 2 + 6 + 60 + 150.5f};
        const float second[] = {0.25f, 6 + 180.25f, 5 + 12 + 150 + 300.25f};
        for (std::size_t at = 0; at < 3; at++) {
            EXPECT_FLOAT_EQ(values[1][is_rows ? 2 * at : at], first[at]) << is_rows << at;
            EXPECT_FLOAT_EQ(values[1][is_rows ? 2 * at + 1 : 3 + at], second[at]) << is_rows << at;
        }
    }
}

namespace {

/// y = -(-(... x)), a chain of `length`; its end reads its middle once more, which is also an
/// output.
Graph long_chain(std::size_t length) {
    Graph graph;
    graph.values.push_back({"x", {1, 4}});
    graph.inputs = {0};
    for (std::size_t index = 0; index < length; ++index) {
        Node node;
        node.name = "neg" + std::to_string(index);
        op::Cpu negate{overtake::CpuOpType::unary,
                       {static_cast<std::int64_t>(overtake::cpu::Unary::negate)}};
        op::Cpu add{overtake::CpuOpType::binary,
                    {static_cast<std::int64_t>(overtake::cpu::Binary::add)}};
        const bool is_last = index + 1 == length;
        node.inputs = {index};
        if (is_last)
            node.inputs.push_back(length / 2);
        node.operation = is_last ? add : negate;
        node.output = index + 1;
        graph.values.push_back({"v" + std::to_string(index), {1, 4}});
        graph.nodes.push_back(node);
    }
    graph.outputs = {length / 2, length};
    return graph;
}

} // namespace

TEST(FloatExecutor, InLittleMemoryItSeesEachValueAndKeepsTheOutputs) {
    const Graph graph = long_chain(41);
    FloatExecutor whole(graph), little(graph);
    for (const float first : {1.0f, 5.0f}) {
        const std::vector<float> x{first, 2, 3, 4};
        const FloatValues wanted = whole.run({x});
        std::vector<ValueId> seen;
        const FloatValues& values =
            little.run_in_little_memory({x}, [&](ValueId id, const std::vector<float>& value) {
                seen.push_back(id);
                EXPECT_EQ(value, wanted[id]);
            });
        EXPECT_EQ(seen.size(), graph.values.size());
        std::size_t there = 0;
        for (ValueId id = 0; id < values.size(); ++id) {
            there += values[id].empty() ? 0 : 1;
            if (!values[id].empty()) {
                EXPECT_EQ(values[id], wanted[id]);
            }
        }
        EXPECT_EQ(there, 3u); // the input and the outputs
        EXPECT_EQ(values[graph.outputs[0]], wanted[graph.outputs[0]]);
        EXPECT_EQ(values[graph.outputs[1]], wanted[graph.outputs[1]]);
    }
}
